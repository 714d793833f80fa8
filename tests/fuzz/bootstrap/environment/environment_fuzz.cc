// Environment files as `env` and `env -0` write them, and the numbers in their values.
#include "bootstrap/environment/environment.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  const std::string_view text = AsText(input);
  const auto environment = Environment::FromText(text, "file");
  if (!environment) {
    Require(environment.error().code == Code::kBadEnvironment, "{} is a bad environment",
            environment.error().message);
    Require(environment.error().message.starts_with("file:"), "\"{}\" names the file",
            environment.error().message);
    return;
  }
  Require(!environment->live() && !environment->host_name(), "a captured environment is not live");
  std::string again;
  for (const auto& [name, value] : environment->All()) {
    Require(!name.empty() && name.find('=') == std::string::npos, "\"{}\" is a name", name);
    Require(environment->Get(name) == value, "{} is found", name);
    const auto count = environment->GetCount(name);
    if (count) {
      Require(*count && **count >= 0, "{} is a count", name);
    } else {
      Require(count.error().message.starts_with(name), "\"{}\" names {}", count.error().message, name);
    }
    again.append(name).append("=").append(value).push_back('\0');
  }
  const auto read_back = Environment::FromText(again, "file");
  Require(read_back && (read_back->All() == environment->All()), "it is read back");
}

std::vector<Bytes> Seeds() {
  using namespace std::string_literals;
  return {ToBytes("A=1\n# comment\n\nB=x=y\nBASH_FUNC_f%%=() {  echo\n}\nC=\n"),
          ToBytes("A=1\0B=2\nlines\0"s),
          ToBytes("A=1\nA=2\n"),
          ToBytes("=1\n"),
          ToBytes("A B=1"),
          ToBytes("RANK=-1\nWORLD_SIZE=99999999999\n")};
}

std::vector<std::string> Words() {
  using namespace std::string_literals;
  return {"\0"s, "\n", "=", "#", "BASH_FUNC_x%%=() {", "}\n", "\r\n", "RANK=", "-1", "2147483648"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz

// The file of `muster launch --hosts`: machines that ssh accepts, or an error that names the line.
#include <fmt/core.h>

#include <set>

#include "bootstrap/hosts/host_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

std::string Written(const hosts::HostFile& hosts) {
  std::string text;
  for (const std::string& host : hosts.hosts) {
    text += host;
    if (hosts.slots) text += fmt::format(" slots={}", *hosts.slots);
    text += '\n';
  }
  return text;
}

void One(ByteView input) {
  const Result<hosts::HostFile> hosts = hosts::ParseHostFile(AsText(input), "F");
  if (!hosts) {
    Require(hosts.error().message.starts_with("F:") || hosts.error().message.starts_with("F "), "{}",
            hosts.error().message);
    return;
  }
  Require(!hosts->hosts.empty(), "there is a machine");
  Require(std::set(hosts->hosts.begin(), hosts->hosts.end()).size() == hosts->hosts.size(),
          "each is there once");
  for (const std::string& host : hosts->hosts)
    Require(!host.empty() && host.front() != '-', "{} is a name", host);
  Require(!hosts->slots || *hosts->slots > 0, "{} ranks each", hosts->slots.value_or(0));
  Require(hosts::ParseHostFile(Written(*hosts), "F") == *hosts, "it is read back as it was written");
}

std::vector<Bytes> Seeds() {
  return {ToBytes("alpha slots=8  # a comment\nbeta slots=8\n"),
          ToBytes("a\nb\n\n# c\n"),
          ToBytes("a slots=0"),
          ToBytes("a\na\n"),
          ToBytes("-oProxyCommand=x"),
          ToBytes("")};
}

std::vector<std::string> Words() { return {" slots=", "slots=2", "#", "\n", "\r\n", "a", "-"}; }

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

#include "bootstrap/hosts/host_file.h"

#include <algorithm>
#include <utility>

#include "comm/base/parse.h"

namespace muster::hosts {
namespace {

// mpirun's "alpha:4". An IPv6 address has more colons.
Status CheckForm(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || !ParseInteger<int>(name.substr(colon + 1))) return {};
  return WithHint(Fail(Code::kConfiguration, "\"{}\" is not the name of a machine", name),
                  fmt::format("write \"{} slots={}\"", name.substr(0, colon), name.substr(colon + 1)));
}

// A name that begins so would be an option to ssh.
bool IsHostName(std::string_view word) {
  return !word.starts_with('-') && word.find('=') == std::string_view::npos;
}

Result<int> SlotsIn(const std::vector<std::string_view>& words) {
  constexpr std::string_view kSlots = "slots=";
  if (words.size() > 2 || !words[1].starts_with(kSlots)) {
    return Fail(Code::kConfiguration, "\"{}\" is not slots=N", words.back());
  }
  const auto slots = ParseInteger<int>(words[1].substr(kSlots.size()));
  if (!slots || *slots < 1) {
    return Fail(Code::kConfiguration, "\"{}\" is not a number of ranks", words[1].substr(kSlots.size()));
  }
  return *slots;
}

Status AddLine(const std::vector<std::string_view>& words, HostFile& hosts) {
  const std::string_view name = words.front();
  if (!IsHostName(name)) return Fail(Code::kConfiguration, "\"{}\" is not the name of a machine", name);
  MUSTER_CHECK(CheckForm(name));
  if (std::ranges::find(hosts.hosts, name) != hosts.hosts.end()) {
    return Fail(Code::kConfiguration, "{} is named twice", name);
  }
  std::optional<int> slots;
  if (words.size() > 1) {
    MUSTER_TRY(slots, SlotsIn(words));
  }
  if (!hosts.hosts.empty() && slots != hosts.slots) {
    return Fail(Code::kConfiguration,
                "{} has slots={}, {} slots={}; all machines must have the same number of ranks",
                hosts.hosts.front(), hosts.slots ? std::to_string(*hosts.slots) : "?", name,
                slots ? std::to_string(*slots) : "?");
  }
  hosts.slots = slots;
  hosts.hosts.emplace_back(name);
  return {};
}

}  // namespace

Result<HostFile> ParseHostFile(std::string_view text, std::string_view file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  HostFile hosts;
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = Words(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (Status added = AddLine(words, hosts); !added) {
      added.error().message.insert(0, fmt::format("{}:{}: ", file, number));
      return tl::unexpected<Error>(std::move(added).error());
    }
  }
  if (hosts.hosts.empty()) return Fail(Code::kConfiguration, "{} names no machine", file);
  return hosts;
}

std::string AddressOf(std::string_view host) {
  constexpr std::string_view kScheme = "ssh://";
  const bool is_uri = host.starts_with(kScheme);
  if (is_uri) host.remove_prefix(kScheme.size());
  host.remove_prefix(host.rfind('@') + 1);
  if (!is_uri) return std::string(host);
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

}  // namespace muster::hosts

#include "comm/rendezvous/status_client.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "comm/base/parse.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/status_desk.h"

namespace muster {
namespace {

struct Visit {
  std::string name;
  std::unique_ptr<FrameStream> stream;
  std::optional<GroupStatus> status;
  bool over = false;
};

// 0: not known.
int PidOf(std::string_view name) {
  name.remove_prefix(kStatusSocketPrefix.size());
  return ParseInteger<int>(name.substr(0, name.find('-'))).value_or(0);
}

UniqueFd Dial(const std::string& name, uid_t uid) {
  const auto address = SocketAddress::Abstract(name);
  if (!address) return {};
  auto fd = StartConnect(*address);
  if (!fd) return {};
  const auto credentials = CredentialsOf(fd->get());
  if (!credentials || credentials->uid != uid) return {};
  return *std::move(fd);
}

std::unique_ptr<Visit> Begin(EventLoop& loop, const std::string& name, UniqueFd fd, const Survey& survey) {
  auto visit = std::make_unique<Visit>();
  visit->name = name;
  visit->stream = std::make_unique<FrameStream>(loop, std::move(fd), kLongestMessage);
  visit->stream->Start(
      [raw = visit.get()](ByteView frame) {
        Result<GroupStatus> status = ControlTypeOf(frame) == ControlType::kGroupStatus
                                         ? DecodeGroupStatus(frame)
                                         : Fail(Code::kInternal, "not a status");
        if (status) raw->status = *std::move(status);
        raw->over = true;
      },
      [raw = visit.get()](const Error&) { raw->over = true; });
  visit->stream->Send(Encode(survey));
  return visit;
}

}  // namespace

std::vector<std::string> FindStatusSockets(std::string_view proc_net_unix) {
  std::vector<std::string> names;
  while (!proc_net_unix.empty()) {
    const size_t end = std::min(proc_net_unix.find('\n'), proc_net_unix.size());
    const std::string_view line = proc_net_unix.substr(0, end);
    proc_net_unix.remove_prefix(std::min(end + 1, proc_net_unix.size()));
    // The last column is the name; '@' stands for the byte that makes it abstract.
    const size_t at = line.rfind(" @");
    if (at == std::string_view::npos) continue;
    const std::string_view name = line.substr(at + 2);
    if (name.starts_with(kStatusSocketPrefix)) names.emplace_back(name);
  }
  // Connections that were accepted bear the same name.
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<AskedGroups> AskGroupsOnThisNode(const Survey& survey, uid_t uid, Deadline deadline) {
  std::ifstream file("/proc/net/unix");
  if (!file) return Fail(Code::kSystem, "cannot read /proc/net/unix, which names the sockets of this node");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  MUSTER_TRY(auto loop, EventLoop::Create());
  std::vector<std::unique_ptr<Visit>> visits;
  for (const std::string& name : FindStatusSockets(text)) {
    if (UniqueFd fd = Dial(name, uid)) visits.push_back(Begin(*loop, name, std::move(fd), survey));
  }
  loop->RunUntil([&] { return std::ranges::all_of(visits, [](const auto& visit) { return visit->over; }); },
                 deadline);
  AskedGroups asked;
  for (auto& visit : visits) {
    if (!visit->status) {
      asked.silent.push_back(PidOf(visit->name));
      continue;
    }
    // Several nodes may share one network namespace: the same group, asked twice.
    const std::string& id = visit->status->group_id;
    const bool known = !id.empty() && std::ranges::count(asked.groups, id, &GroupStatus::group_id) > 0;
    if (!known) asked.groups.push_back(*std::move(visit->status));
  }
  return asked;
}

}  // namespace muster

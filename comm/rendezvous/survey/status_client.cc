#include "comm/rendezvous/survey/status_client.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "comm/base/parse.h"
#include "comm/net/event_loop.h"
#include "comm/net/frame_stream.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/survey/status_server.h"

namespace muster::rendezvous {
namespace {

struct Visit {
  int pid = 0;  // of the leader, as its socket is named
  std::unique_ptr<net::FrameStream> stream;
  std::optional<GroupStatus> status;
  std::optional<Error> refused;
  bool over = false;
};

// Before the status.
void TakeVersions(Visit& visit, const Versions& ours, ByteView frame) {
  const Result<Versions> theirs = DecodeVersions(frame);
  if (!theirs) return;
  const std::string leader = fmt::format("the group's leader, process {},", visit.pid);
  const Result<uint16_t> common = CommonVersion({"this command", ours}, {leader, *theirs});
  if (common) return;
  visit.refused = common.error();
  visit.over = true;
}

std::unique_ptr<Visit> Begin(net::EventLoop& loop, int pid, UniqueFd fd, const Survey& survey,
                             const Versions& versions) {
  auto visit = std::make_unique<Visit>();
  visit->pid = pid;
  visit->stream = std::make_unique<net::FrameStream>(loop, std::move(fd), kLongestMessage);
  visit->stream->Start(
      [raw = visit.get(), versions](ByteView frame) {
        if (raw->over) return;
        if (ControlTypeOf(frame) == ControlType::kVersions) return TakeVersions(*raw, versions, frame);
        Result<GroupStatus> status = ControlTypeOf(frame) == ControlType::kGroupStatus
                                         ? Decode<GroupStatus>(frame)
                                         : Fail(Code::kInternal, "not a status");
        if (status) raw->status = *std::move(status);
        raw->over = true;
      },
      [raw = visit.get()](const Error&) { raw->over = true; });
  visit->stream->Send(Encode(versions));
  visit->stream->Send(Encode(survey));
  return visit;
}

}  // namespace

std::optional<StatusSocket> ParseStatusSocket(std::string_view name) {
  if (!name.starts_with(kStatusSocketPrefix)) return std::nullopt;
  const auto parts = Split(name.substr(kStatusSocketPrefix.size()), '-');
  if (parts.size() != 4) return std::nullopt;
  StatusSocket socket;
  const char* end = parts[0].data() + parts[0].size();
  const auto [rest, error] = std::from_chars(parts[0].data(), end, socket.network_namespace, 16);
  const auto pid = ParseInteger<int>(parts[1]);
  if (error != std::errc() || rest != end || !pid) return std::nullopt;
  socket.pid = *pid;
  return socket;
}

Result<AskedGroups> AskGroupsOnThisNode(const Survey& survey, uid_t uid,
                                        const std::vector<std::string>& bases, Deadline deadline,
                                        const Versions& versions) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  std::vector<std::unique_ptr<Visit>> visits;
  AskedGroups asked;
  const uint32_t here = net::OwnNetworkNamespace();
  for (const std::string& base : bases) {
    for (const net::PrivateDirectory& directory : net::PrivateDirectory::FindIn(base)) {
      for (const std::string& name : directory.Sockets()) {
        const auto socket = ParseStatusSocket(name);
        if (!socket || socket->network_namespace != here) continue;
        bool busy = false;
        if (UniqueFd fd = directory.Dial(name, uid, &busy))
          visits.push_back(Begin(*loop, socket->pid, std::move(fd), survey, versions));
        if (busy) asked.silent.push_back(socket->pid);
      }
    }
  }
  loop->RunUntil([&] { return std::ranges::all_of(visits, [](const auto& visit) { return visit->over; }); },
                 deadline);
  for (auto& visit : visits) {
    if (visit->refused) {
      asked.refused.push_back(*std::move(visit->refused));
      continue;
    }
    if (!visit->status) {
      asked.silent.push_back(visit->pid);
      continue;
    }
    // Several nodes may share one network namespace: the same group may answer twice.
    const std::string& id = visit->status->group_id;
    const bool known = !id.empty() && std::ranges::count(asked.groups, id, &GroupStatus::group_id) > 0;
    if (!known) asked.groups.push_back(*std::move(visit->status));
  }
  return asked;
}

}  // namespace muster::rendezvous

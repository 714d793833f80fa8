#include "comm/rendezvous/survey/status_server.h"

#include <unistd.h>

#include <algorithm>

#include "comm/log/log.h"
#include "comm/net/socket.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kMostVisitors = 16;
constexpr size_t kLongestQuestion = size_t{1} << 20;

}  // namespace

std::string StatusSocketName(int rank) {
  return net::UniqueSocketName(
      fmt::format("{}{:x}-{}-{}", kStatusSocketPrefix, net::OwnNetworkNamespace(), getpid(), rank));
}

Result<std::unique_ptr<StatusServer>> StatusServer::Open(net::EventLoop& loop, uid_t uid, int rank,
                                                         const std::vector<std::string>& bases,
                                                         const Versions& versions) {
  std::unique_ptr<StatusServer> server(new StatusServer(loop, uid, versions));
  MUSTER_TRY(net::PrivateSocket socket,
             net::PrivateSocket::Open(bases, StatusSocketName(rank), net::PrivateSocket::Kind::kListener));
  server->acceptor_ = std::make_unique<net::Acceptor>(
      loop, std::move(socket.fd),
      [raw = server.get()](UniqueFd fd, const net::SocketAddress&) { raw->Admit(std::move(fd)); });
  server->name_ = std::move(socket.name);
  MUSTER_CHECK(server->acceptor_->Start());
  return server;
}

StatusServer::StatusServer(net::EventLoop& loop, uid_t uid, Versions versions)
    : loop_(loop), uid_(uid), versions_(std::move(versions)) {
  visitors_.SetHandlers(
      [this](ChildLinks::Source source, ByteView frame) { OnFrame(source, frame); },
      [this](ChildLinks::Source source, const ChildLinks::Child&, const Error&) { newest_.erase(source); });
}

void StatusServer::Admit(UniqueFd fd) {
  const auto credentials = net::CredentialsOf(fd.get());
  if (!credentials || credentials->uid != uid_) {
    const uid_t uid = credentials ? credentials->uid : 0;
    return rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                           fmt::format("refused a status request of uid {}", uid));
  }
  // More visitors at one time are not users.
  if (visitors_.all().size() >= kMostVisitors) return;
  visitors_.Add(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestQuestion),
                fmt::format("pid {}", credentials->pid), true);
}

// The visitor compares the versions, and leaves without a common one.
void StatusServer::OnFrame(ChildLinks::Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kVersions) {
    if (const auto theirs = DecodeVersions(frame))
      newest_[source] = std::min(theirs->newest, versions_.newest);
    return visitors_.Send(source, Encode(versions_));
  }
  const Result<Survey> survey = ControlTypeOf(frame) == ControlType::kSurvey
                                    ? Decode<Survey>(frame)
                                    : Fail(Code::kInternal, "not a question");
  if (!survey || !answer_) {
    newest_.erase(source);
    return visitors_.Remove(source);
  }
  const auto newest = newest_.find(source);
  const bool takes_maps = newest != newest_.end() && newest->second >= kVersionWithMaps;
  answer_(*survey, [this, source, takes_maps, alive = std::weak_ptr<bool>(alive_)](GroupStatus status) {
    if (alive.expired()) return;
    if (!takes_maps) status.maps.clear();
    visitors_.Send(source, Encode(status));
  });
}

}  // namespace muster::rendezvous

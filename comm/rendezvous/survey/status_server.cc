#include "comm/rendezvous/survey/status_server.h"

#include <unistd.h>

#include <cerrno>

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
  visitors_.SetHandlers([this](ChildLinks::Source source, ByteView frame) { OnFrame(source, frame); },
                        [](ChildLinks::Source, const ChildLinks::Child&, const Error&) {});
}

void StatusServer::Admit(UniqueFd fd) {
  const auto credentials = net::CredentialsOf(fd.get());
  if (!credentials || credentials->uid != uid_) {
    const uid_t uid = credentials ? credentials->uid : 0;
    return rejections_.Add(LogLevel::kWarning, {{"uid", uid}},
                           fmt::format("refused to report to uid {} what this group is doing", uid));
  }
  // More at once are no people.
  if (visitors_.all().size() >= kMostVisitors) return;
  visitors_.Add(std::make_unique<net::FrameStream>(loop_, std::move(fd), kLongestQuestion),
                fmt::format("pid {}", credentials->pid), true);
}

// The visitor compares the versions, and leaves if it does not speak this one.
void StatusServer::OnFrame(ChildLinks::Source source, ByteView frame) {
  if (ControlTypeOf(frame) == ControlType::kVersions) return visitors_.Send(source, Encode(versions_));
  if (ControlTypeOf(frame) != ControlType::kSurvey || !answer_) return visitors_.Remove(source);
  const Result<Survey> survey = DecodeSurvey(frame);
  if (!survey) return visitors_.Remove(source);
  answer_(*survey, [this, source, alive = std::weak_ptr<bool>(alive_)](const GroupStatus& status) {
    if (!alive.expired()) visitors_.Send(source, Encode(status));
  });
}

}  // namespace muster::rendezvous

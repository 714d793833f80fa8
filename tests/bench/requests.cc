#include "tests/bench/requests.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "comm/auth/munge.h"
#include "comm/net/socket.h"

namespace muster::bench {

rendezvous::JoinRequest MakeRequest(const Launch& launch, int rank) {
  const bool one_node = launch.port == 0;
  rendezvous::JoinRequest request;
  request.meeting.key = launch.key;
  request.meeting.job_key = launch.key;
  request.meeting.find_root = one_node ? FindRoot::kSameNode : FindRoot::kEndpoint;
  if (!one_node) request.meeting.endpoint = Endpoint{"127.0.0.1", launch.port};
  request.self.node = one_node ? "node0000" : fmt::format("node{:04}", rank);
  request.self.pid = getpid();
  request.self.agreement.world_size = launch.world_size;
  request.self.agreement.launcher = "slurm";
  request.self.agreement.job_key = launch.key;
  request.self.agreement.backend = "socket";
  request.self.claims = {{rank, one_node ? rank : 0, one_node ? launch.world_size : 1, {}}};
  request.options.auth = launch.auth;
  request.timeouts.rendezvous = std::chrono::seconds(60);
  request.uid = getuid();
  request.secret = launch.secret;
  request.munge_socket = auth::kDefaultMungeSocket;
  return request;
}

uint16_t FreePort() {
  const auto loopback = net::SocketAddress::FromNumeric("127.0.0.1", 0);
  if (loopback) {
    if (const auto listener = net::Listen(*loopback)) return net::LocalAddress(listener->get()).port();
  }
  std::fputs("no free port\n", stderr);
  std::exit(1);
}

}  // namespace muster::bench

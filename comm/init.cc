#include "comm/init.h"

#include "comm/socket/single.h"
#include "comm/socket/socket_communicator.h"

namespace muster {

Result<Backend> ChooseBackend(Backend configured) {
  if (configured != Backend::kNccl) return Backend::kSocket;
  return WithHint(Fail(Code::kConfiguration, "backend: nccl is not part of this release"),
                  "set backend: auto or backend: socket");
}

Result<std::unique_ptr<Communicator>> BuildCommunicator(Group& group,
                                                        std::unique_ptr<SocketEndpoint> endpoint,
                                                        const TimeoutOptions& timeouts) {
  const Bytes mine = endpoint->payload();
  MUSTER_TRY(const std::vector<Bytes> endpoints,
             group.Exchange("data endpoints", mine, Deadline::After(timeouts.init)));
  SocketOptions options;
  options.timeouts = timeouts;
  return MakeSocketCommunicator(group, std::move(endpoint), endpoints, options);
}

Result<std::unique_ptr<Communicator>> BuildCommunicatorFromRoster(Group& group,
                                                                  std::unique_ptr<SocketEndpoint> endpoint,
                                                                  const TimeoutOptions& timeouts) {
  std::vector<Bytes> endpoints;
  for (const Roster::Member& member : group.roster().members) endpoints.push_back(member.payload);
  SocketOptions options;
  options.timeouts = timeouts;
  return MakeSocketCommunicator(group, std::move(endpoint), endpoints, options);
}

std::unique_ptr<Communicator> BuildCommunicatorOfOne(const Group& group) {
  return MakeSingleCommunicator(group.roster());
}

}  // namespace muster

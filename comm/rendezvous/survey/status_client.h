// The client of status_server.h: finds the groups that have a leader on this node and requests their state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/rendezvous/messages/survey_messages.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster::rendezvous {

// The process and the network namespace in the name of a status socket; absent if it is not one.
struct StatusSocket {
  uint32_t network_namespace = 0;
  int pid = 0;
};
std::optional<StatusSocket> ParseStatusSocket(std::string_view name);

struct AskedGroups {
  std::vector<GroupStatus> groups;  // each once, in the order of the sockets
  std::vector<int> silent;          // processes of leaders that did not answer in time, from their names
  std::vector<Error> refused;       // leaders without a common version
};
// The answer of each leader of this user on this node (in this network namespace). `bases`: candidate
// directories of their sockets. BLOCKS until all have answered, at most until the deadline. Error: kSystem.
Result<AskedGroups> AskGroupsOnThisNode(const Survey& survey, uid_t uid,
                                        const std::vector<std::string>& bases, Deadline deadline,
                                        const Versions& versions = {});

}  // namespace muster::rendezvous

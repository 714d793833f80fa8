// The asking side of status_desk.h: finds the groups that have a leader on this node and asks them what they
// are doing.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/rendezvous/survey_messages.h"

namespace muster {

// Names of the abstract sockets of status desks, from the text of /proc/net/unix.
std::vector<std::string> FindStatusSockets(std::string_view proc_net_unix);

struct AskedGroups {
  std::vector<GroupStatus> groups;  // each once, in the order of the sockets
  std::vector<int> silent;          // processes of leaders that did not answer in time, as their names say
};
// What each leader on this node answers; those of other users are passed over. BLOCKS until all have
// answered, at most until the deadline. Error: kSystem.
Result<AskedGroups> AskGroupsOnThisNode(const Survey& survey, uid_t uid, Deadline deadline);

}  // namespace muster

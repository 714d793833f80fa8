// The library's ways into a Group: meet the other ranks, adopt the group of the supervisor that started this
// program, or be a world of one.
#pragma once

#include <memory>
#include <string>

#include "comm/group/group.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster::rendezvous {

// BLOCKS until the group is formed or has failed; timeouts.rendezvous bounds it. Afterwards one thread of the
// Group's own serves the control plane.
Result<std::unique_ptr<Group>> JoinGroup(JoinRequest request);

// For a process that cannot be part of its group, as request.self.refused says: tells the others, so that
// nobody waits for it. The failure that all were told, or request.self.refused where nobody was found; and
// whether the root says so (elsewhere), in which file of a log (Failure::told_in). BLOCKS
// for a few seconds at most, at the root and at leaders until the others have come and heard it (late_nodes).
struct ToldRefusal {
  Error error;
  bool elsewhere = false;
  uint64_t told_in = 0;
};
ToldRefusal TellRefusal(JoinRequest request);

struct AdoptedGroup {
  std::unique_ptr<Group> group;
  std::string configuration;  // the supervisor's, as YAML
  std::string job_key;
  int incarnation = 0;  // how many programs of this rank were adopted before
};

// `control`: the path in MUSTER_CONTROL. `group_id` is MUSTER_GROUP: a supervisor of another group is a
// leftover. BLOCKS until the supervisor has answered, at most until the deadline. Error: kBadEnvironment if
// no supervisor answers; the hint tells a supervisor that has ended from one whose directory this process
// does not see. kDisagreement if the supervisor speaks no common version.
Result<AdoptedGroup> AdoptGroup(const std::string& control, const std::string& group_id, int rank, uid_t uid,
                                const LivenessOptions& liveness, Deadline deadline,
                                const Versions& versions = {});

// Whether a supervisor of this uid listens there, or may: if the kernel lists its socket but this process
// does not see it (a container with other directories), or if user ids prove nothing here, AdoptGroup
// explains it. Does not block.
bool IsSupervisorThere(const std::string& control, uid_t uid);

// Opens nothing and starts nothing.
std::unique_ptr<Group> MakeGroupOfOne(std::string node);

}  // namespace muster::rendezvous

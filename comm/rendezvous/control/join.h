// The library's ways into a Group: meet the other ranks, adopt the group of the supervisor that started this
// program, or form a group of one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "comm/group/group.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/messages/versions.h"

namespace muster::rendezvous {

// BLOCKS until the group is formed or has failed; timeouts.rendezvous bounds it. Afterwards one thread of the
// Group's own serves the control plane.
Result<std::unique_ptr<Group>> JoinGroup(JoinRequest request);

// For a process that cannot be part of its group (request.self.refused): reports this to the other ranks, so
// that none waits for it. Result: the failure that all ranks received, or request.self.refused if no rank was
// found; also whether the root logs it, and in which log file (Failure::logged_in). BLOCKS for a few seconds at
// most, at the root and at leaders until the other ranks have come and received it (late_nodes).
struct ReportedRefusal {
  Error error;
  bool elsewhere = false;
  uint64_t logged_in = 0;
};
ReportedRefusal ReportRefusal(JoinRequest request);

struct AdoptedGroup {
  std::unique_ptr<Group> group;
  std::string configuration;  // the supervisor's, as YAML
  std::string job_key;
  int incarnation = 0;  // number of earlier adopted programs of this rank
};

// `control`: the path in MUSTER_CONTROL. `group_id` is MUSTER_GROUP: a supervisor of another group is
// rejected as a leftover. BLOCKS until the supervisor has answered, at most until the deadline. Error:
// kBadEnvironment if no supervisor answers; the hint distinguishes an ended supervisor from one in a
// directory that this process cannot access. kDisagreement if there is no common version.
Result<AdoptedGroup> AdoptGroup(const std::string& control, const std::string& group_id, int rank, uid_t uid,
                                const LivenessOptions& liveness, Deadline deadline,
                                const Versions& versions = {});

// True if a supervisor of this uid listens there, or may listen there: the kernel lists its socket but this
// process cannot access it (a container with other directories), or user ids prove nothing here. AdoptGroup
// then explains the cause. Does not block.
bool IsSupervisorThere(const std::string& control, uid_t uid);

// The owner of that socket, or of its directory if other users cannot see it; nullopt: this user, or there is none.
std::optional<uid_t> OtherOwnerOf(const std::string& control, uid_t uid);

// Opens nothing and starts nothing.
std::unique_ptr<Group> MakeGroupOfOne(std::string node);

}  // namespace muster::rendezvous

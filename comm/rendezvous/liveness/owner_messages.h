// The owner of a connection: the question of the process that serves the group's store, and the answer. Two
// messages of the control plane (messages.h has the remaining ones).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {

struct OwnerQuestion {
  uint64_t id = 0;          // set by the sender; one process of a group sends questions
  std::string client_host;  // numeric
  uint16_t client_port = 0;
  std::string server_host;
  uint16_t server_port = 0;
  int node = -1;  // index into Roster::nodes: the only node that receives it; -1: none

  friend bool operator==(const OwnerQuestion&, const OwnerQuestion&) = default;
};

// From the least to the most specific.
enum class OwnerKind : uint8_t {
  kNoOwner,   // no such connection on the node, or closed meanwhile
  kUser,      // the group's user, but no program of the group
  kStranger,  // another user
  kProgram,   // a program of the group
};

struct OwnerAnswer {
  uint64_t id = 0;
  OwnerKind kind = OwnerKind::kNoOwner;
  uid_t uid = 0;            // unless kNoOwner
  int rank = -1;            // of kProgram
  uint32_t generation = 0;  // of kProgram: number of earlier programs of this rank that used the store
  // False: a process of the node did not answer in time. The connection may be its program's: repeat the question.
  bool complete = true;

  friend bool operator==(const OwnerAnswer&, const OwnerAnswer&) = default;
};

// No other process of the node gives a more specific answer.
inline bool Decides(OwnerKind kind) { return kind == OwnerKind::kStranger || kind == OwnerKind::kProgram; }
// `best` becomes the more specific of both; it is complete if both are.
void Merge(OwnerAnswer& best, const OwnerAnswer& other);

}  // namespace muster::rendezvous

// Whose a connection is: the question of who serves the group's store, and the answer. Two messages of the
// control plane (messages.h has the others).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "comm/base/bytes.h"
#include "comm/base/error.h"

namespace muster::rendezvous {

struct OwnerQuestion {
  uint64_t id = 0;          // the asker's; one process of a group asks
  std::string client_host;  // numeric
  uint16_t client_port = 0;
  std::string server_host;
  uint16_t server_port = 0;
  int node = -1;  // index into Roster::nodes: the only one that is asked; -1: none

  friend bool operator==(const OwnerQuestion&, const OwnerQuestion&) = default;
};

// In the order of how much they say.
enum class OwnerKind : uint8_t {
  kNobody,    // there is no such connection on the node, or none any more
  kUser,      // the group's user, but no program of the group
  kStranger,  // another user
  kProgram,   // a program of the group
};

struct OwnerAnswer {
  uint64_t id = 0;
  OwnerKind kind = OwnerKind::kNobody;
  uid_t uid = 0;            // unless kNobody
  int rank = -1;            // of kProgram
  uint32_t generation = 0;  // of kProgram: how many programs of this rank came before that used the store

  friend bool operator==(const OwnerAnswer&, const OwnerAnswer&) = default;
};

Bytes Encode(const OwnerQuestion& question);
Bytes Encode(const OwnerAnswer& answer);
// Each takes a whole frame of its type. Error: kInternal "malformed ...".
Result<OwnerQuestion> DecodeOwnerQuestion(ByteView frame);
Result<OwnerAnswer> DecodeOwnerAnswer(ByteView frame);

}  // namespace muster::rendezvous

// The table of a group in few bytes: its nodes and members, column by column. A hundred thousand ranks of a regular layout
// take less than 1 MB. Each process keeps these bytes, and decodes what it reads.
#pragma once

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/roster.h"

namespace muster::rendezvous {

// Nodes and members; not the group's id.
Bytes EncodeTable(const Roster& roster);
// False: malformed. Every member is on one of the nodes.
bool DecodeTable(ByteView bytes, Roster& roster);

}  // namespace muster::rendezvous

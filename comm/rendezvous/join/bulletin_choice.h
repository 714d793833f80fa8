// Which bulletin a meeting means: a store, a file, or the board that the launcher keeps.
#pragma once

#include <memory>

#include "comm/meeting.h"
#include "comm/rendezvous/discovery/bulletin.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/pmi/board.h"

namespace muster {

// The launcher's, where the ranks meet on it; else null. At most one of a process at a time. Does not block.
std::shared_ptr<Board> OpenBoard(const Meeting& meeting);

// The one that request.meeting names (FindRoot::kBulletin). Does no I/O before its first call.
std::unique_ptr<Bulletin> OpenBulletin(const JoinRequest& request);

}  // namespace muster

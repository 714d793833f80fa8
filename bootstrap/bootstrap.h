// The library's public interface. A program that links //bootstrap says
//
//   muster::Result<muster::Communicator*> group = muster::Init();
//   if (!group) { std::cerr << muster::ToString(group.error()) << '\n'; return
//   muster::ExitStatus(group.error().code); }
//   (*group)->Barrier();
//   ...
//   muster::Shutdown();
//
// and runs under srun, torchrun, mpirun, `muster run`, `muster launch`, or on its own (a world of one, at no
// cost).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/map/member.h"
#include "comm/options.h"
#include "comm/rank_tuple.h"

namespace muster {

struct InitOptions {
  std::optional<std::string> config_file;  // YAML; absent: MUSTER_CONFIG, else defaults
  std::vector<std::string> set;            // "timeouts.collective=1h", as after --set
  // The caller never passes device memory, as bindings of other languages do not: with backend auto the group
  // uses sockets, and no CUDA is loaded. Ignored by a second Init, which returns the first group.
  bool host_memory_only = false;
};

// Finds out who this process is, meets the other ranks (or adopts the group of the `muster run` that started
// this program) and builds the communicator. Blocks for at most timeouts.resolve + timeouts.rendezvous +
// timeouts.init. Idempotent: a second call returns the first group; with other options it is kConfiguration;
// in a forked child kUsage. The Communicator belongs to muster and lives until Shutdown. Call from one
// thread.
Result<Communicator*> Init(const InitOptions& options = {});

// What Init resolved; null before Init succeeded.
const RankTuple* InitializedTuple();

// The timeouts of that group's configuration; null before Init succeeded.
const TimeoutOptions* InitializedTimeouts();

// Makes "rank R on NODE REASON" (kPeerLost) the failure of the whole group, unless it has one: calls that
// wait return it, on every rank. From any thread, also while another is in a call; does not wait, and does
// nothing while Init or Shutdown runs.
void Abandon(std::string_view reason);

// Takes part in a map (comm/map/member.h): every rank calls it, with the same identity and options but for slots and
// time_left, which is set here where the job's end is known. `options.journal` may be relative to this process's working
// directory. Waits until the group's root has opened the journal, at most timeouts.collective. The Member ends before
// Shutdown. Error: kUsage before Init; as Member::Join.
Result<std::unique_ptr<map::Member>> BeginMap(const map::Identity& identity, map::Options options);

// Leaves the group and frees it; waits for at most timeouts.shutdown. Without it the end of this
// process is a failure to the others. Does nothing where Init did not succeed. Error: the group's failure,
// where it has one by then or gets it while this waits, as the root and leaders do for those behind them:
// this rank's work may be done, but the group's is not. Whoever nobody needs any more is let go at once and
// hears of no later failure.
Status Shutdown();

}  // namespace muster

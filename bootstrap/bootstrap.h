// The library's public interface. A program that links //bootstrap:
//
//   muster::Result<muster::Communicator*> group = muster::Init();
//   if (!group) {
//     std::cerr << muster::ToString(group.error()) << '\n';
//     return muster::ExitStatus(group.error().code);
//   }
//   (*group)->Barrier();
//   ...
//   muster::Shutdown();
//
// runs under srun, torchrun, mpirun, `muster run`, `muster launch`, or on its own (a world of one, at no cost).
//
// The group is one per process. Init and Shutdown may be called from any thread, one at a time: a second call waits
// for the first. Nothing throws, nothing is printed except muster's log (configuration: log), and signals do not end
// a wait.
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

// Resolves the rank of this process, joins the group (or adopts the group of the `muster run` that started
// this program) and builds the communicator. BLOCKS for at most timeouts.resolve + timeouts.rendezvous +
// timeouts.init. The Communicator belongs to muster and lives until Shutdown. A second call returns the first
// group. After an error, and after Shutdown, Init may be called again, on all ranks.
//
//     kUsage           a forked child, whose group belongs to its parent
//     kNotLaunched     an allocation, but this process was not started as one of its ranks
//     kBadEnvironment  variables of launchers are malformed or contradict each other
//     kConfiguration   a bad file, setting or MUSTER_* value; a second call with other options
//     kDeadline        ranks are missing when the time is over; the message names them
//     kPeerLost        a rank ended while the group was forming
//     kDisagreement    ranks differ in world size, configuration, version or backend
//     kAuthentication  a peer could not prove its identity
//     kSystem          the operating system refused (a socket, memory, a device)
//     kInternal        a bug in muster
Result<Communicator*> Init(const InitOptions& options = {});

// The tuple that Init resolved; null before Init has succeeded, and after Shutdown. Any thread; waits while Init
// or Shutdown runs. Valid until Shutdown. A forked child has its parent's.
const RankTuple* InitializedTuple();

// The timeouts of that group's configuration; otherwise as InitializedTuple.
const TimeoutOptions* InitializedTimeouts();

// Makes "rank R on NODE REASON" (kPeerLost) the failure of the whole group, unless it has one: calls that
// wait return it, on every rank, and so does every later call. From any thread, also while another is in a call.
// Does not wait. Does nothing without a group, in a forked child, and while Init or Shutdown runs.
void Abandon(std::string_view reason);

// Takes part in a map (comm/map/member.h): every rank calls it with the same identity and the same options; only slots
// may differ. time_left is set here if the job's end is known. `options.journal` may be relative to this process's
// working directory. BLOCKS until the group's root has opened the journal, at most timeouts.collective. The Member is
// destroyed before Shutdown. One call at a time. If Shutdown is called meanwhile, it keeps the memory of the group.
// Error: kUsage before Init and in a forked child; else as Member::Join.
Result<std::unique_ptr<map::Member>> BeginMap(const map::Identity& identity, map::Options options);

// Leaves the group and frees it. BLOCKS for at most timeouts.shutdown: the root and the leaders wait for the
// ranks below them, every other rank leaves immediately. Without it the end of this process is a failure of
// the group. Does nothing before Init has succeeded, and in a forked child. Destroy communicators of Split,
// and Members of maps, first. A call of another thread on the communicator ends with kUsage, and no other may
// follow; if it does not return within half of timeouts.shutdown, at most 5 s, its memory is kept. Error: the
// failure of the group, if it has failed or fails during this wait. The work of this rank may then be complete,
// but that of the group is not.
Status Shutdown();

}  // namespace muster

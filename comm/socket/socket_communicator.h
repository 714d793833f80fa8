// The public interface of the socket backend: a Communicator over TCP between nodes and Unix sockets inside one.
//
//   auto endpoint = SocketEndpoint::Open();                    // before the rendezvous
//   ... rendezvous with endpoint->payload() ...                // gives a Group and everybody's payload
//   auto communicator = MakeSocketCommunicator(*group, std::move(endpoint), payloads, options);
//
// No thread is started and no connection is made here: peers connect when they first need each other
// (README.md).
//
// Threads: as communicator.h says. In addition Send to and Recv from the same peer may run in two threads,
// and any number of communicators made by Split may be used at the same time, each from its own thread.
// Ownership: the Group must outlive the communicator and everything Split from it.
// Destruction sends a leave message to the connected peers and closes; it does not wait.
//
// Errors of the operations, apart from kUsage, are also the group's failure, so that every rank gets the same
// sentence:
//   kDisagreement  rank 3 on gpu01 is in AllReduce #42 f32[1024], rank 5 on gpu02 in Barrier #42
//   kDeadline      AllReduce #42 f32[1024] did not finish within 30m: waiting for rank 5 on gpu02
//   kPeerLost      rank 5 on gpu02 closed its connection during AllReduce #42
//                  rank 5 on gpu02 left the group before AllReduce #42
//                  rank 5 on gpu02 cannot connect to rank 3 on gpu01 for AllReduce #42: 10.1.0.1:40001:
//                  Connection refused; that rank has not connected either
// The number counts the operations of one communicator from 1; ranks in messages are always those of the
// whole group.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/communicator.h"
#include "comm/group/group.h"
#include "comm/options.h"
#include "comm/socket/algorithms/choice.h"
#include "comm/socket/transport/endpoint.h"

namespace muster::socket {

struct SocketOptions {
  TimeoutOptions timeouts;  // handshake, connect, collective, barrier
  // A rank that has been blocked for this long asks the peers it waits for what they are doing.
  Duration patience = std::chrono::milliseconds(500);
  // How long a lost connection waits for the control plane to name the cause.
  Duration cause_grace = std::chrono::seconds(2);
  // Unproven connections at a time, for each listener; further ones wait in the kernel's queue.
  size_t half_open_limit = 128;
  // Between two nodes the higher rank of a pair connects to the lower. The lower one connects itself where it
  // has waited for so long, and the higher one, where it has failed, gives it so much time to do that.
  Duration call_back_after = std::chrono::seconds(1);
  Duration called_back_within = std::chrono::seconds(3);
  // kAll: connections that leave this node are sealed. The same on all ranks.
  Protect protect = Protect::kControl;
  // Spin before blocking; absent: where this node's ranks are no more than the processors this process may
  // use.
  std::optional<bool> spin;
  // Memory inside a node is shared from the first call on that moves much or comes after this many others:
  // many groups meet once and do no more. Off: never. The same on all ranks.
  bool shared_memory = true;
  uint64_t calls_before_sharing = 2;
  // Bytes of a slot of the shared memory, for tests; 0: chosen.
  size_t shared_slot_bytes = 0;
  // For tests and measurements: what these operations use instead of what choice.h finds best; the same on
  // all ranks, and for everything Split off.
  ForcedAlgorithms algorithms;
};

// `endpoints_by_rank[r]` is rank r's SocketEndpoint::payload(); not needed afterwards. Does not block.
// Error: kUsage when their number is not the group's size or a forced algorithm does not fit it (Split then
// fails alike, for subgroups that it does not fit, and nothing is broken), kDisagreement for a malformed
// payload (names the rank), kSystem when the kernel has no descriptor left.
Result<std::unique_ptr<Communicator>> MakeSocketCommunicator(Group& group,
                                                             std::unique_ptr<SocketEndpoint> endpoint,
                                                             const std::vector<ByteView>& endpoints_by_rank,
                                                             const SocketOptions& options);

}  // namespace muster::socket

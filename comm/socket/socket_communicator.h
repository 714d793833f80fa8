// The public interface of the socket backend: a Communicator over TCP between nodes and Unix sockets inside one.
//
//   auto endpoint = SocketEndpoint::Open();                    // before the rendezvous
//   ... rendezvous with endpoint->payload() ...                // gives a Group and all payloads, for PeerAddresses::Read
//   auto communicator = MakeSocketCommunicator(*group, std::move(endpoint), addresses, options);
//
// No thread is started and no connection is made here: peers connect when they first need each other
// (README.md).
//
// Threads: as in communicator.h. In addition Send to and Recv from the same peer may run in two threads,
// and any number of communicators made by Split may be used at the same time, each from its own thread.
// Ownership: the Group must outlive the communicator and everything Split from it.
// Destruction sends a leave message to the connected peers and closes; it does not wait.
//
// Errors of the operations, apart from kUsage, are also the group's failure, so that every rank gets the same
// sentence:
//   kDisagreement  rank 3 on gpu01 is in AllReduce #42 f32[1024], rank 5 on gpu02 in Barrier #42
//   kDeadline      AllReduce #42 f32[1024] did not finish within 30m: waiting for rank 5 on gpu02
//   kPeerLost      rank 5 on gpu02 closed its connection during AllReduce #42
//                  rank 3 on gpu01 lost its connection to rank 5 on gpu02 during AllReduce #42: Connection timed out
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
#include "comm/socket/transport/peer_addresses.h"

namespace muster::socket {

struct SocketOptions {
  TimeoutOptions timeouts;  // handshake, connect, collective, barrier
  // A rank that has been blocked for this long sends inquiries to the peers that it waits for.
  Duration patience = std::chrono::milliseconds(500);
  // Time limit for the control plane to name the cause of a lost connection, and for this process to leave as well if a
  // peer has left.
  Duration cause_grace = std::chrono::seconds(2);
  // Unproven connections at a time, for each listener; further ones wait in the kernel's queue.
  size_t half_open_limit = 128;
  // The higher rank of a pair connects to the lower. After this wait the lower one connects itself.
  Duration call_back_after = std::chrono::seconds(1);
  // Between two nodes the higher one gives it this time to do so after its own failure.
  Duration called_back_within = std::chrono::seconds(3);
  // kAll: connections that leave this node are sealed. The same on all ranks.
  Protect protect = Protect::kControl;
  // Spin before blocking; absent: if this node has at most one rank for each processor that this process may
  // use.
  std::optional<bool> spin;
  // Memory inside a node is shared from the first long call on, or after this number of other calls: many
  // groups meet once and do nothing else. Off: never. The same on all ranks.
  bool shared_memory = true;
  uint64_t calls_before_sharing = 2;
  // Bytes of a slot of the shared memory, for tests; 0: chosen; at least 8 KiB.
  size_t shared_slot_bytes = 0;
  // For tests and measurements: replaces the choice of choice.h for these operations; the same on all ranks,
  // and for everything made by Split.
  ForcedAlgorithms algorithms;
};

// `addresses`: of every rank's SocketEndpoint::payload(). Does not block.
// Errors: kUsage if their number is not the group's size, or a forced algorithm does not fit it (Split then
// fails likewise for unfit subgroups, and nothing is broken); kSystem if the kernel has no descriptor left.
Result<std::unique_ptr<Communicator>> MakeSocketCommunicator(Group& group,
                                                             std::unique_ptr<SocketEndpoint> endpoint,
                                                             PeerAddresses addresses,
                                                             const SocketOptions& options);

}  // namespace muster::socket

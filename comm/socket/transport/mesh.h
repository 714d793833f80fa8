// All data connections of this process while they are being made, shared by its communicators (Split) and
// their threads.
//
// Connections are made at first use; the higher rank of a pair connects to the lower. A full mesh of 2048
// ranks is out of the question. No thread is started; a rank that is blocked in an operation serves all
// peers, with Serve().
//
// The lower rank calls back after it has waited for `call_back_after`: it connects itself. Between nodes a
// connection may work in one direction only (a firewall, a missing route). And the higher rank may be in
// another call that waits for this rank: a short message is sent as soon as there is a connection. Only the
// higher one decides which connection both use. It takes the lower one's if its own has failed, has not
// succeeded for that time, or has not begun. Between nodes it waits a while for the lower one's after its own
// failure before it reports the failure.
//
// No rank can deadlock on a peer that waits elsewhere. A rank blocks in one place only (ProgressEngine::Run),
// where it polls this Mesh, which itself never waits. The Mesh accepts connections and answers handshakes and
// inquiries for every communicator of the process, during any wait of the rank. So "X waits for Y to answer
// its handshake" ends as soon as Y is in any operation. If Y is in none, its next call is the one that X
// needs. So handshakes add no edge to the graph of waits between ranks. That graph, of data between ranks in
// the same call, has no cycle (progress_engine.h).
//
// Threads: all functions may be called from any thread; none waits. Ownership: the Group outlives it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/group/group.h"
#include "comm/net/event_loop.h"
#include "comm/socket/transport/call_history.h"
#include "comm/socket/transport/endpoint.h"
#include "comm/socket/transport/inquiry.h"
#include "comm/socket/transport/peer_acceptor.h"
#include "comm/socket/transport/peer_addresses.h"

namespace muster::socket {

struct MeshOptions {
  Duration connect = std::chrono::seconds(30);
  Duration call_back_after = std::chrono::seconds(1);
  Duration called_back_within = std::chrono::seconds(3);
  PeerAcceptorOptions acceptor;
  auth::CipherSet ciphers = 0;  // as GroupMember's
};

// Why there is no connection.
struct LinkFailure {
  std::string tried;     // addresses and reasons
  bool refused = false;  // no process listens: the peer has ended, or between two nodes a firewall refuses
  bool apart = false;    // between two nodes: the peer has not connected to this rank either
  bool lacked_descriptors = false;  // as Dial
};

struct LinkState {
  ProvenLink link;                     // ready if it has an fd; the caller's from now on
  std::optional<LinkFailure> failure;  // final
};

class Mesh {
 public:
  // Error: kSystem.
  static Result<std::shared_ptr<Mesh>> Create(Group& group, std::unique_ptr<SocketEndpoint> endpoint,
                                              PeerAddresses addresses, const MeshOptions& options);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  ~Mesh();

  Group& group() const { return group_; }
  bool SharesNode(int peer) const;
  // A private directory of this node, by its name; absent if this process cannot access it.
  std::optional<net::PrivateDirectory> FindDirectory(const std::string& name) const;

  // Readable when Serve has something to do.
  int poll_fd() const { return loop_->fd(); }
  // When Serve has something to do without being readable.
  Deadline wake() const;
  // `caller`: the waker that is not written to: the caller checks its connections itself. -1: none.
  void Serve(int caller = -1);

  // The connection for `key`, as soon as there is one; begins to connect if that is this rank's part. Neither
  // ready nor failed: a Waker is written to when that changes.
  LinkState Take(const LinkKey& key);

  // This rank has left `communicator`. Returns the connections that have come and were never taken. A later one
  // of either purpose receives a leave message: its peer must not wait for this rank until the deadline.
  std::vector<ProvenLink> End(uint64_t communicator, Purpose purpose);

  // Wakes the ranks that poll this Mesh, for once.
  void Wake() {
    loop_->Post([] {});
  }

  // `fd` (an eventfd) is written to each time a connection or an inquiry has ended. Until RemoveWaker.
  void AddWaker(int fd);
  void RemoveWaker(int fd);

  // The source of answers about the calls of a communicator of this process.
  void AddCallHistory(uint64_t communicator, std::shared_ptr<CallHistory> history);
  void RemoveCallHistory(uint64_t communicator);

  // Sends `peer` the question whether it is in `call`.
  uint64_t Inquire(int peer, const Call& call);
  Inquiry::State Look(uint64_t inquiry) const;
  void Drop(uint64_t inquiry);

 private:
  Mesh(Group& group, std::unique_ptr<SocketEndpoint> endpoint, PeerAddresses addresses,
       const MeshOptions& options, std::unique_ptr<net::EventLoop> loop);

  struct Question {
    std::unique_ptr<Inquiry> inquiry;
    bool announced = false;  // its end
  };

  DialStages StagesTo(int peer) const;
  // In another network namespace than this rank.
  bool IsApart(int peer) const;
  bool HasRemovedItsSocket(int peer) const;
  std::string WhyNowhere(int peer) const;
  std::vector<net::SocketAddress> TcpAddressesOf(int peer) const;
  std::unique_ptr<Dial> StartDial(const LinkKey& key);
  bool IsPending(const LinkKey& key) const;
  bool Wants(const LinkKey& key) const;
  void OnArrival(const LinkKey& key, ProvenLink link);
  void AddReady(const LinkKey& key, ProvenLink link);
  static void SayLeft(const LinkKey& key, ProvenLink link);
  void TellOneWay(const LinkKey& key);
  void CallBack();
  bool GiveUp();
  bool Respond(int from, const Call& call);
  bool SettleDials();
  bool SettleQuestions();
  void Settle(const LinkKey& key, Dial& dial);
  void WakeAll(int caller);

  Group& group_;
  const std::unique_ptr<SocketEndpoint> endpoint_;
  const PeerAddresses addresses_;
  const MeshOptions options_;
  const GroupMember self_;

  mutable std::mutex mutex_;
  const std::unique_ptr<net::EventLoop> loop_;
  std::map<LinkKey, ProvenLink> ready_;
  std::map<LinkKey, LinkFailure> failed_;
  std::map<LinkKey, std::unique_ptr<Dial>> dials_;
  std::set<LinkKey> connected_;               // taken, or ready
  std::map<LinkKey, Deadline> call_back_at_;  // to higher ranks; Never: under way
  struct Unreached {
    LinkFailure failure;
    Deadline final_at;
  };
  std::map<LinkKey, Unreached> unreached_;  // lower ranks that may still call back
  std::set<int> told_one_way_;              // nodes that the log has named
  std::set<uint64_t> ended_;                // communicators
  std::deque<uint64_t> ended_in_order_;
  std::map<uint64_t, std::shared_ptr<CallHistory>> histories_;
  std::map<uint64_t, Question> questions_;
  uint64_t next_inquiry_ = 1;
  std::vector<int> wakers_;
  bool arrived_ = false;  // a connection, since the last WakeAll
  InquiryServer server_;
  PeerAcceptor acceptor_;
};

}  // namespace muster::socket

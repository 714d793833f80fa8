// The root's listener: binds the ladder's first free port. It waits for a port only if all of rendezvous.ports are taken, and not
// if this user may bind none of them. With a job secret it listens on one port of each ladder (names.h). If the meeting has an
// endpoint store, it publishes its address there. An AuthenticatingAcceptor passes on only proven links.
//
// It listens on the meeting's address if that is numeric, and on loopback if the endpoint is localhost. Else it
// listens on all addresses of the node: a name may mean another address on other nodes than here (127.0.1.1 in
// /etc/hosts, a second network). It resolves the name (off the loop, again after a failure) to notice that the
// other processes search another node: two answers a second apart have none of this node's addresses, and no
// process has proven itself here meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/root_announcer.h"
#include "comm/rendezvous/join/join_request.h"
#include "comm/rendezvous/link/authenticating_acceptor.h"

namespace muster::rendezvous {

// The ports of the root as all ranks derive them, the first to try in front; one of each ladder is open. A ladder
// gives its first `most` ports: a whole one costs thousands of hashes, and the first few nearly always suffice.
using Ladder = std::function<std::vector<uint16_t>(size_t most)>;
std::vector<Ladder> RootLadders(const JoinRequest& request);

class RootListener {
 public:
  // The other processes will not find it. Error: kConfiguration: they search another node, or its address cannot be
  // published; kSystem: this user may bind none of its ports.
  using OnMisplaced = std::function<void(const Error& error)>;

  static constexpr Duration kLookUpAgain = std::chrono::seconds(1);

  // The references must outlive it.
  RootListener(net::EventLoop& loop, const JoinRequest& request, auth::Prover& prover,
               AuthenticatingAcceptor::OnLink on_link, OnMisplaced on_misplaced,
               Duration look_up_again = kLookUpAgain);
  RootListener(const RootListener&) = delete;
  RootListener& operator=(const RootListener&) = delete;
  ~RootListener();

  void Start();
  // Removes the root's address beside the loop; the destructor waits for that (RootAnnouncer).
  void Close();

  // The obstacle, for the waiting line: no free port, a name that does not resolve, or the peer rejected last.
  // Empty: none.
  std::string Problem() const;

 private:
  struct OwnName {
    std::vector<net::SocketAddress> here;  // its addresses of this node
    std::string unresolved;
    std::string elsewhere;
  };
  static OwnName LookUpName(const std::string& host);
  void LookUp();
  void OnName(const OwnName& name);
  void TryToBind();
  Result<uint16_t> OpenOneOf(const Ladder& ladder, bool* forbidden = nullptr);
  Result<uint16_t> Open(const std::vector<uint16_t>& ports, bool* forbidden = nullptr);
  void ReportPort(uint16_t port, const Ladder& ladder) const;
  std::vector<Ladder> LaddersToTry() const;
  void Announce(uint16_t port);
  std::vector<net::SocketAddress> AllAddresses() const;

  net::EventLoop& loop_;
  const JoinRequest& request_;
  const AuthMethod method_;
  AuthenticatingAcceptor listener_;
  OnMisplaced on_misplaced_;
  const Duration look_up_again_;
  std::unique_ptr<RootAnnouncer> announcer_;
  net::ThreadWorker names_;
  const std::string host_;                   // the one at which the other processes search the root
  net::SocketAddress listen_;                // without a port
  std::vector<net::SocketAddress> by_name_;  // to publish; empty: all
  net::Timer bind_timer_;
  net::Timer name_timer_;
  bool closed_ = false;
  bool found_ = false;  // a process has proven itself here
  bool elsewhere_before_ = false;
  std::string bind_problem_;
  std::string name_problem_;
};

}  // namespace muster::rendezvous

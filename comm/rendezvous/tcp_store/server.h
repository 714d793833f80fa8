// A TCPStore-compatible server: PyTorch's clients from 2.2 on connect to it as to their own.
//
// Runs on one EventLoop; owns the listener and all connections; nothing blocks. The protocol has no
// authentication: any client that reaches the address may read and write, unless the screen or the gate
// rejects it. The gate also selects the space of keys of a client: clients of different spaces share only the
// address. Any number of foreign clients uses a bounded number of descriptors, log lines and questions
// (entrance.h), and an admitted client never gives way to them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/log/rejection_log.h"
#include "comm/net/acceptor.h"
#include "comm/net/event_loop.h"
#include "comm/net/socket.h"
#include "comm/rendezvous/tcp_store/entrance.h"
#include "comm/rendezvous/tcp_store/session.h"

namespace muster::tcp_store {

// One program's keys.
using Space = uint64_t;

// The identity of a client.
struct Member {
  Space space = 0;
  int rank = -1;  // of 0..ServerOptions::ranks-1; -1: none
};

struct ServerOptions {
  // Calls `verdict` once, immediately or later, on the loop's thread: with the client's identity, or with an
  // Error that rejects it. Absent: unknown so far; the gate is called again when it is the client's turn. Bytes
  // that the client sends meanwhile wait in the kernel.
  using Verdict = std::function<void(Result<std::optional<Member>>)>;
  using Gate = std::function<void(const net::SocketAddress& peer, Verdict verdict)>;
  // An Error rejects the new connection. `own`: this side's address. Called for each connection: it must be quick.
  using Screen = std::function<Status(const net::SocketAddress& peer, const net::SocketAddress& own)>;

  Limits limits;
  uint64_t memory = uint64_t{4} << 30;            // bytes of keys, values and waits
  uint64_t buffers = uint64_t{1} << 30;           // bytes of unfinished requests and untaken answers
  size_t most_clients = 65536;                    // further ones wait in the kernel's queue
  Duration handshake = std::chrono::seconds(30);  // until a connection has sent VALIDATE
  Entrance::Limits entrance;                      // `clients` is lowered to a quarter of most_clients
  Screen screen;                                  // may be empty: every client may send VALIDATE
  Gate gate;           // called once a client has sent VALIDATE; may be empty: accepts all, to space 0
  std::string advice;  // for users of a PyTorch before 2.2, in the log
  int ranks = 0;       // that have rounds (rounds.h); 0: process groups share their keys
};

class Server {
 public:
  Server(net::EventLoop& loop, UniqueFd listener, ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Error: kSystem.
  Status Start();
  const net::SocketAddress& address() const { return address_; }

  // Closes all connections and deletes all keys.
  void Clear();
  // No further client will use these spaces: each is deleted when its last client has gone.
  void DropBelow(Space first);
  size_t clients() const { return sessions_.size(); }
  size_t keys() const;

 private:
  void OnAccept(UniqueFd fd, const net::SocketAddress& peer);
  void OnGreeted(ClientId id);
  void AskNext();
  void OnVerdict(const Entrance::Question& question, const Result<std::optional<Member>>& verdict);
  void Refuse(const net::SocketAddress& peer, const Error& reason);
  void CloseClient(ClientId id, const Error& reason);
  void UpdatePaused();
  void Admit(ClientId id, const Member& member);
  void Expire(ClientId id);
  void OnClosed(ClientId id, const Error& reason);

  using Spaces = std::map<Space, ProgramKeys>;
  struct Client {
    std::shared_ptr<Session> session;
    net::Timer handshake;
    Spaces::iterator space;  // spaces_.end() until it is admitted
  };

  net::EventLoop& loop_;
  const ServerOptions options_;
  const net::SocketAddress address_;
  Budget memory_;
  Spaces spaces_;
  Space first_space_ = 0;  // earlier ones are not needed
  Budget buffers_;
  SessionHost host_;
  Entrance entrance_;
  RejectionLog rejections_{"connections to the store"};
  net::Acceptor acceptor_;
  std::unordered_map<ClientId, Client> sessions_;
  ClientId next_id_ = 1;
  bool full_said_ = false;
  // Verdicts may come after the server's end.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::tcp_store

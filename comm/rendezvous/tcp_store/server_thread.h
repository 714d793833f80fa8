// A Server on its own thread, for a process that has other things to do.
//
// Only the thread that started it may call the methods. The gate and the log are called from the server's
// thread.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "comm/rendezvous/tcp_store/server.h"

namespace muster::tcp_store {

class ServerThread {
 public:
  // Error: kSystem.
  static Result<std::unique_ptr<ServerThread>> Start(UniqueFd listener, ServerOptions options);
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;
  // Closes all connections; waits for the request that is being served, which is short.
  ~ServerThread();

  const net::SocketAddress& address() const { return server_->address(); }
  // Server::DropBelow, soon.
  void DropBelow(Space first);
  // The mailbox through which a gate's answers reach the server's thread.
  const std::shared_ptr<net::Mailbox>& mailbox() const { return loop_->mailbox(); }

 private:
  explicit ServerThread(std::unique_ptr<net::EventLoop> loop) : loop_(std::move(loop)) {}

  const pid_t owner_ = getpid();
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  bool stop_ = false;  // the thread's
};

}  // namespace muster::tcp_store

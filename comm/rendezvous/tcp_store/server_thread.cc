#include "comm/rendezvous/tcp_store/server_thread.h"

#include <csignal>
#include <system_error>

namespace muster::tcp_store {

Result<std::unique_ptr<ServerThread>> ServerThread::Start(UniqueFd listener, ServerOptions options) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  std::unique_ptr<ServerThread> self(new ServerThread(std::move(loop)));
  self->server_ = std::make_unique<Server>(*self->loop_, std::move(listener), std::move(options));
  MUSTER_CHECK(self->server_->Start());
  MUSTER_CHECK(self->Run());
  return self;
}

Status ServerThread::Run() {
  // Signals are for the process's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    thread_ = std::thread([this] { loop_->RunUntil([this] { return stop_; }, Deadline::Never()); });
  } catch (const std::system_error& error) {
    started = Fail(Code::kSystem, "cannot start the store's thread: {}", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

ServerThread::~ServerThread() {
  if (!thread_.joinable()) return;
  if (getpid() != owner_) {
    // A forked child has neither the thread nor a right to the connections.
    thread_.detach();
    [[maybe_unused]] const auto* server = server_.release();
    [[maybe_unused]] const auto* loop = loop_.release();
    return;
  }
  loop_->Post([this] { stop_ = true; });
  thread_.join();
}

void ServerThread::DropBelow(Space first) {
  loop_->Post([this, first] { server_->DropBelow(first); });
}

}  // namespace muster::tcp_store

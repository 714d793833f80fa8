#include "comm/rendezvous/tcp_store/server_thread.h"

#include "comm/system/start_thread.h"

namespace muster::tcp_store {

Result<std::unique_ptr<ServerThread>> ServerThread::Start(UniqueFd listener, ServerOptions options) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  std::unique_ptr<ServerThread> self(new ServerThread(std::move(loop)));
  self->server_ = std::make_unique<Server>(*self->loop_, std::move(listener), std::move(options));
  MUSTER_CHECK(self->server_->Start());
  MUSTER_TRY(self->thread_, StartThread("the store's thread", [server = self.get()] {
               server->loop_->RunUntil([server] { return server->stop_; }, Deadline::Never());
             }));
  return self;
}

ServerThread::~ServerThread() {
  if (!thread_.joinable()) return;
  if (getpid() != owner_) {
    // A forked child has no such thread and must not use the connections.
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

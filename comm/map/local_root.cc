#include "comm/map/local_root.h"

#include <unistd.h>

#include <thread>
#include <utility>

#include "comm/map/service.h"
#include "comm/net/event_loop.h"
#include "comm/system/start_thread.h"

namespace muster::map {
namespace {

class LocalLink : public RootLink {
 public:
  LocalLink(std::unique_ptr<net::EventLoop> loop, const Roster& roster)
      : loop_(std::move(loop)), roster_(roster) {}

  ~LocalLink() override {
    loop_->Post([this] { stop_ = true; });
    if (thread_.joinable()) thread_.join();
  }

  Status Serve() {
    service_ =
        std::make_unique<Service>(Service::Params{*loop_,
                                                  roster_,
                                                  {roster_.NodeName(0), getpid(), "", roster_.group_id},
                                                  Duration::max(),
                                                  [this](int, ByteView message) { Deliver(message); }});
    MUSTER_TRY(thread_, StartThread("the thread of the map", [this] {
                 loop_->RunUntil([this] { return stop_; }, Deadline::Never());
                 service_.reset();
               }));
    return {};
  }

  void SendToRoot(Bytes message) override {
    loop_->Post([this, message = std::move(message)] { service_->Receive(0, message); });
  }
  // The root ends with this process.
  void AwaitSent() override {}
  void SetListener(uint32_t map, Listener listener) override {
    loop_->Post([this, map, listener = std::move(listener)] { listeners_.Set(map, listener); });
  }

 private:
  // Later, as over a connection: the service is at work on the stack.
  void Deliver(ByteView message) {
    loop_->Post([this, bytes = Bytes(message.begin(), message.end())] { listeners_.Receive(bytes); });
  }

  const std::unique_ptr<net::EventLoop> loop_;
  const Roster& roster_;
  std::unique_ptr<Service> service_;
  RootListeners listeners_;
  std::thread thread_;
  bool stop_ = false;
};

}  // namespace

Result<std::unique_ptr<RootLink>> LocalRoot::Start(const Roster& roster) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  auto link = std::make_unique<LocalLink>(std::move(loop), roster);
  MUSTER_CHECK(link->Serve());
  return link;
}

}  // namespace muster::map

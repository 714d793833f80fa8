// From "the root says on a bulletin where it is" to a proven connection: looks there again and again, keeps a
// RootDialer busy with what the newest notice says, and begins anew where another notice is put up, because
// the first may have been that of a root that is gone.
//
// Lives on one EventLoop; the bulletin is asked on a thread of its own, which may be left behind. Never gives
// up by itself but where trying again is of no use: its owner has the deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/net/event_loop.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/discovery/bulletin.h"
#include "comm/rendezvous/discovery/root_finder.h"
#include "comm/rendezvous/link/root_dialer.h"

namespace muster {

class BulletinSearch : public RootFinder {
 public:
  // For the secret of a notice.
  using MakeProver = std::function<Result<std::unique_ptr<Prover>>(const std::optional<JobSecret>&)>;

  // One look is given up after params.handshake_timeout.
  BulletinSearch(EventLoop& loop, std::unique_ptr<Bulletin> bulletin, RootDialer::Params params,
                 MakeProver make_prover, RootDialer::OnLink on_link, RootDialer::OnRejected on_rejected);
  ~BulletinSearch() override;

  std::string Problem() const override;
  std::optional<Error> rejection() const override;

 private:
  void Look();
  void OnLook(const Result<std::optional<std::string>>& found);
  void OnNotice(const std::string& text);
  void Dial(const Notice& notice);
  void DropDialer();

  EventLoop& loop_;
  std::shared_ptr<Bulletin> bulletin_;  // shared with a look that is left behind
  RootDialer::Params params_;
  MakeProver make_prover_;
  RootDialer::OnLink on_link_;
  RootDialer::OnRejected on_rejected_;
  ThreadWorker worker_;
  EventLoop::TimerId timer_ = 0;
  Duration pause_;
  std::string newest_;
  std::string problem_;
  std::shared_ptr<Prover> prover_;
  std::unique_ptr<RootDialer> dialer_;
};

}  // namespace muster

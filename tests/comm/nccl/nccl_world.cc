#include "tests/comm/nccl/nccl_world.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <utility>

#include "tests/comm/nccl/computing_nccl.h"
#include "tests/comm/nccl/through_device.h"

namespace muster::nccl {

struct NcclWorld::Ended {
  std::mutex mutex;
  std::vector<std::string> messages;
};

NcclSettings TestSettings() {
  NcclSettings settings;
  settings.gpu = "GPU-1";
  settings.timeouts.init = std::chrono::minutes(2);
  settings.timeouts.collective = std::chrono::minutes(2);
  settings.timeouts.shutdown = std::chrono::minutes(2);
  settings.abort_within = std::chrono::minutes(2);
  settings.cause_grace = std::chrono::milliseconds(50);
  settings.watch_every = std::chrono::milliseconds(10);
  return settings;
}

NcclWorld::NcclWorld(const std::vector<int>& node_of_rank, Through through, const NcclSettings& settings,
                     const std::function<void(FakeFabric&)>& prepare, std::shared_ptr<FakeFabric> fabric)
    : host_(node_of_rank),
      fabric_(std::move(fabric)),
      ended_(std::make_shared<Ended>()),
      started_(static_cast<size_t>(host_.size())),
      communicators_(static_cast<size_t>(host_.size())) {
  if (prepare) prepare(*fabric_);
  ended_->messages.resize(started_.size());
  for (int rank = 0; rank < host_.size(); ++rank) {
    cudas_.push_back(std::make_shared<ComputingCuda>());
    cudas_.back()->count = settings.device + 1;
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < host_.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<size_t>(rank);
      NcclSettings mine = settings;
      mine.end_process = [ended = ended_, index](const Error& error) {
        const std::lock_guard lock(ended->mutex);
        ended->messages[index] = error.message;
      };
      NcclParts parts{std::make_shared<ComputingNccl>(fabric_, cudas_[index], rank), cudas_[index],
                      host_.Take(rank)};
      auto made = MakeNcclCommunicator(host_.group(rank), std::move(parts), mine,
                                       Deadline::After(settings.timeouts.init));
      started_[index] = socket::MessageOf(made);
      if (!made) return;
      communicators_[index] =
          through == Through::kDevice ? MakeThroughDevice(*std::move(made), cudas_[index]) : *std::move(made);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// As processes do: each leaves on its own.
NcclWorld::~NcclWorld() {
  std::vector<std::thread> threads;
  for (auto& communicator : communicators_) threads.emplace_back([&communicator] { communicator.reset(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fabric_->misuses, 0);
  fabric_->Release();
}

std::vector<std::string> NcclWorld::ended() const {
  const std::lock_guard lock(ended_->mutex);
  return ended_->messages;
}

}  // namespace muster::nccl

// One group of threads whose communicators are the NCCL backend's, on the computing fakes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/nccl/communicator/nccl_communicator.h"
#include "tests/comm/nccl/computing_cuda.h"
#include "tests/comm/nccl/fake_fabric.h"
#include "tests/comm/socket/fake_group.h"

namespace muster::nccl {

// Options that no slow machine can upset, and no process ends: what had to is in `ended`.
NcclSettings TestSettings();

class NcclWorld final : public socket::World {
 public:
  enum class Through { kDevice, kNothing };

  // `through`: whether the communicators take host memory and compute on the device, or are bare. `prepare`
  // changes the fabric before the start.
  explicit NcclWorld(const std::vector<int>& node_of_rank, Through through = Through::kDevice,
                     const NcclSettings& settings = TestSettings(),
                     const std::function<void(FakeFabric&)>& prepare = {},
                     std::shared_ptr<FakeFabric> fabric = std::make_shared<FakeFabric>());
  ~NcclWorld() override;

  int size() const override { return host_.size(); }
  Communicator& at(int rank) override { return *communicators_.at(static_cast<size_t>(rank)); }
  void Leave(int rank) override { communicators_.at(static_cast<size_t>(rank)).reset(); }

  // The result of the start; "" for success.
  const std::vector<std::string>& started() const { return started_; }
  socket::FakeGroupState& state() { return host_.state(); }
  socket::FakeGroup& group(int rank) { return host_.group(rank); }
  FakeFabric& fabric() { return *fabric_; }
  ComputingCuda& cuda(int rank) { return *cudas_.at(static_cast<size_t>(rank)); }
  // Why processes had to end, by rank; "" where they had not.
  std::vector<std::string> ended() const;

 private:
  struct Ended;

  socket::FakeWorld host_;
  const std::shared_ptr<FakeFabric> fabric_;
  const std::shared_ptr<Ended> ended_;
  std::vector<std::shared_ptr<ComputingCuda>> cudas_;
  std::vector<std::string> started_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace muster::nccl

// All operations on device memory against a float64 reference, on the ranks that a launcher has started.
// Rank 0 prints how many results were right.
#include <fmt/core.h>

#include <cstdio>

#include "bootstrap/bootstrap.h"
#include "tests/gpu/device_checks.h"

namespace muster {
namespace {

Status Run() {
  MUSTER_TRY(Communicator * group, Init());
  if (group->backend() != "nccl") {
    return Fail(Code::kInternal, "the backend is {}, not nccl", group->backend());
  }
  MUSTER_TRY(const Device device, Device::Open());
  MUSTER_TRY(const size_t compared, CheckOnDevice(*group, device));
  if (group->rank() == 0) fmt::print("{} ranks: {} results on each are right\n", group->size(), compared);
  return Shutdown();
}

}  // namespace
}  // namespace muster

int main() {
  const muster::Status status = muster::Run();
  if (status) return 0;
  fmt::print(stderr, "collectives: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}

// AllReduce of f32 in this library, over real processes: all_reduce_times tcp|sealed|node RANKS
// BYTES:ITERATIONS... tcp: each rank is on a node of its own by name, so that they use TCP over loopback;
// sealed: the same with rendezvous.protect: all; node: all are on one. Rank 0 prints a line a size: bytes,
// microseconds per call, and those of its processor time, the kernel's included.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "comm/base/parse.h"
#include "comm/init/init.h"
#include "comm/rendezvous/control/join.h"
#include "tests/bench/requests.h"

namespace muster::bench {
namespace {

struct Size {
  size_t bytes = 0;
  int iterations = 0;
};

double ProcessorMicroseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

Status Measure(Communicator& group, const Size& size) {
  std::vector<float> values(std::max<size_t>(1, size.bytes / sizeof(float)), 1.0F);
  std::vector<float> sums(values.size());
  const auto once = [&] {
    return group.AllReduce(HostBuffer(std::span<const float>(values)), HostBuffer(std::span<float>(sums)),
                           ReduceOp::kSum);
  };
  const int warm_up = std::clamp(size.iterations / 10, 1, 100);
  for (int i = 0; i < warm_up; ++i) MUSTER_CHECK(once());
  const auto right = static_cast<float>(group.size());
  if (!std::ranges::all_of(sums, [right](float sum) { return sum == right; })) {
    return Fail(Code::kInternal, "a sum of {} ones is wrong", group.size());
  }
  MUSTER_CHECK(group.Barrier());
  const double worked_before = ProcessorMicroseconds();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < size.iterations; ++i) MUSTER_CHECK(once());
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  const double worked = ProcessorMicroseconds() - worked_before;
  if (group.rank() == 0) {
    std::printf("%zu %.3f %.3f\n", size.bytes, took.count() / size.iterations, worked / size.iterations);
  }
  return group.Barrier();
}

Status RunRank(const Launch& launch, int rank, Protect protect, const std::vector<Size>& sizes) {
  MUSTER_TRY(auto endpoint, socket::SocketEndpoint::Open());
  MUSTER_TRY(const std::unique_ptr<Group> group, rendezvous::JoinGroup(MakeRequest(launch, rank)));
  DataOptions options;
  options.protect = protect;
  MUSTER_TRY(DataPlane plane, BuildCommunicator(*group, std::move(endpoint), options,
                                                Deadline::After(std::chrono::minutes(10))));
  for (const Size& size : sizes) MUSTER_CHECK(Measure(*plane.communicator, size));
  plane.communicator.reset();
  return group->Leave(Deadline::After(std::chrono::seconds(10)));
}

[[noreturn]] void BeRank(const Launch& launch, int rank, Protect protect, const std::vector<Size>& sizes) {
  const Status status = RunRank(launch, rank, protect, sizes);
  if (!status) std::fprintf(stderr, "all_reduce_times: %s\n", ToString(status.error()).c_str());
  std::fflush(stdout);
  _exit(status ? 0 : 1);
}

std::vector<Size> ParseSizes(int argc, char** argv) {
  std::vector<Size> sizes;
  for (int i = 3; i < argc; ++i) {
    const auto parts = Split(argv[i], ':');
    const auto bytes = ParseInteger<size_t>(parts.front());
    const auto iterations = ParseInteger<int>(parts.back());
    if (parts.size() == 2 && bytes && iterations && *iterations > 0) sizes.push_back({*bytes, *iterations});
  }
  return sizes;
}

int Main(int argc, char** argv) {
  const std::vector<Size> sizes = ParseSizes(argc, argv);
  const auto ranks = argc > 2 ? ParseInteger<int>(argv[2]) : std::nullopt;
  if (!ranks || sizes.empty()) {
    std::fputs("all_reduce_times tcp|sealed|node RANKS BYTES:ITERATIONS...\n", stderr);
    return 64;
  }
  const std::string_view transport = argv[1];
  const bool tcp = transport != "node";
  const Protect protect = transport == "sealed" ? Protect::kAll : Protect::kControl;
  const Launch launch{fmt::format("all_reduce_times {}", getpid()), *ranks, tcp ? FreePort() : uint16_t{0},
                      AuthMethod::kNone, std::nullopt};
  for (int rank = 0; rank < *ranks; ++rank) {
    if (fork() == 0) BeRank(launch, rank, protect, sizes);
  }
  int worst = 0;
  for (int status = 0; wait(&status) > 0;) worst = std::max(worst, status);
  return worst == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }

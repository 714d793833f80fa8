#include "comm/system/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

constexpr size_t kMostCpus = 1 << 20;

class CpuSet {
 public:
  explicit CpuSet(size_t most) : size_(CPU_ALLOC_SIZE(most)), set_(CPU_ALLOC(most)) {
    CPU_ZERO_S(size_, set_);
  }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;

  void Add(int cpu) { CPU_SET_S(static_cast<size_t>(cpu), size_, set_); }
  std::vector<int> cpus() const {
    std::vector<int> cpus;
    for (size_t cpu = 0; cpu < 8 * size_; ++cpu) {
      if (CPU_ISSET_S(cpu, size_, set_)) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
  }
  bool Read(pid_t process) { return sched_getaffinity(process, size_, set_) == 0; }
  bool Bind() const { return sched_setaffinity(0, size_, set_) == 0; }

 private:
  size_t size_;
  cpu_set_t* set_;
};

}  // namespace

std::optional<std::vector<int>> CpusOf(pid_t process) {
  for (size_t most = CPU_SETSIZE; most <= kMostCpus; most *= 2) {
    CpuSet set(most);
    if (set.Read(process)) return set.cpus();
    if (errno != EINVAL) break;
  }
  return std::nullopt;
}

Status RunOn(std::span<const int> cpus) {
  CpuSet set(cpus.empty() ? 1 : static_cast<size_t>(*std::ranges::max_element(cpus)) + 1);
  for (const int cpu : cpus) set.Add(cpu);
  if (set.Bind()) return {};
  return Fail(Code::kSystem, "{}", ErrnoText(errno));
}

}  // namespace muster

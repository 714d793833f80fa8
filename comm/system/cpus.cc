#include "comm/system/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

constexpr size_t kMostCpus = 1 << 20;

class CpuSet {
 public:
  explicit CpuSet(size_t most) : sets_((most + CPU_SETSIZE - 1) / CPU_SETSIZE) {}

  void Add(int cpu) { CPU_SET_S(static_cast<size_t>(cpu), size(), sets_.data()); }
  std::vector<int> cpus() const {
    std::vector<int> cpus;
    for (size_t cpu = 0; cpu < 8 * size(); ++cpu) {
      if (CPU_ISSET_S(cpu, size(), sets_.data())) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
  }
  bool Overlaps(const CpuSet& other) const {
    CpuSet both = other;
    CPU_AND_S(size(), both.sets_.data(), sets_.data(), other.sets_.data());
    return CPU_COUNT_S(size(), both.sets_.data()) > 0;
  }
  bool Read(pid_t process) { return sched_getaffinity(process, size(), sets_.data()) == 0; }
  bool Bind() const { return sched_setaffinity(0, size(), sets_.data()) == 0; }

 private:
  size_t size() const { return sets_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> sets_;
};

// Of the calling thread, in a set that is large enough for any process of this node.
std::optional<CpuSet> OwnSet() {
  for (size_t most = CPU_SETSIZE; most <= kMostCpus; most *= 2) {
    CpuSet set(most);
    if (set.Read(0)) return set;
    if (errno != EINVAL) break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<int>> CpusOf() {
  const std::optional<CpuSet> own = OwnSet();
  return own ? std::optional(own->cpus()) : std::nullopt;
}

int CountSharers(std::span<const pid_t> processes) {
  const std::optional<CpuSet> own = OwnSet();
  if (!own) return static_cast<int>(processes.size());
  CpuSet other = *own;
  return static_cast<int>(std::ranges::count_if(
      processes, [&](pid_t process) { return !other.Read(process) || own->Overlaps(other); }));
}

Status RunOn(std::span<const int> cpus) {
  CpuSet set(cpus.empty() ? 1 : static_cast<size_t>(*std::ranges::max_element(cpus)) + 1);
  for (const int cpu : cpus) set.Add(cpu);
  if (set.Bind()) return {};
  return Fail(Code::kSystem, "{}", ErrnoText(errno));
}

}  // namespace muster

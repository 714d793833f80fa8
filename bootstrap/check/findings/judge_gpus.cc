#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "bootstrap/check/findings/judge.h"
#include "bootstrap/check/findings/units.h"

namespace muster::check {
namespace {

constexpr size_t kFewestToCompare = 3;
constexpr double kSlowShare = 0.7;  // of the median of the GPUs of the same name

class GpuJudge {
 public:
  GpuJudge(const Evidence& evidence, Verdict& verdict) : evidence_(evidence), verdict_(verdict) {}

  void Run() {
    for (size_t rank = 0; rank < evidence_.gpus.size(); ++rank) JudgeOne(rank);
    JudgeRates("memory write", &GpuFacts::write_bytes_per_s, ShowRate);
    JudgeRates("memory read", &GpuFacts::read_bytes_per_s, ShowRate);
    JudgeRates("matrix product", &GpuFacts::product_flops, ShowFlops);
  }

 private:
  std::string Name(size_t rank) const {
    return fmt::format("{} of {}", evidence_.gpus[rank].uuid,
                       DescribeRank(evidence_.roster, static_cast<int>(rank)));
  }
  std::string Node(size_t rank) const { return evidence_.roster.NodeName(static_cast<int>(rank)); }

  void Fail(size_t rank, std::string code, std::string message, std::string hint) {
    verdict_.failures.push_back({std::move(code), std::move(message), std::move(hint), {Node(rank)}});
    verdict_.exclude.push_back(Node(rank));
  }
  void Warn(size_t rank, std::string code, std::string message, std::string hint) {
    verdict_.warnings.push_back({std::move(code), std::move(message), std::move(hint), {Node(rank)}});
  }

  void JudgeOne(size_t rank) {
    const GpuFacts& gpu = evidence_.gpus[rank];
    const char* const replace = "leave the node out; an administrator resets or replaces the GPU";
    if (gpu.memory_taken) {
      Fail(rank, "gpu_memory_taken", fmt::format("{}: {}", Name(rank), gpu.problem),
           "end that process (nvidia-smi lists those that use a GPU), or leave the node out");
    } else if (!gpu.problem.empty()) {
      Fail(rank, "gpu_failed", fmt::format("{}: {}", Name(rank), gpu.problem),
           "leave the node out; dmesg on it shows the driver's Xid errors");
    } else if (gpu.wrong_words > 0) {
      Fail(rank, "gpu_wrong_result",
           fmt::format("{}: {} of {} words of its memory changed", Name(rank), gpu.wrong_words, gpu.words),
           replace);
    } else if (gpu.wrong_elements > 0) {
      Fail(rank, "gpu_wrong_result",
           fmt::format("{}: {} of {} elements of a matrix product are wrong", Name(rank), gpu.wrong_elements,
                       gpu.elements),
           replace);
    }
    JudgeErrors(rank, gpu.errors);
  }

  void JudgeErrors(size_t rank, const GpuMemoryErrors& errors) {
    if (errors.uncorrected != kUnknown && errors.uncorrected > 0) {
      Warn(rank, "gpu_memory_errors",
           fmt::format("{}: {} uncorrected memory errors since its driver started", Name(rank),
                       errors.uncorrected),
           "results of programs on it may be wrong; reset the GPU (nvidia-smi --gpu-reset)");
    }
    if (errors.remap_failed) {
      Warn(rank, "gpu_memory_errors", fmt::format("{}: it has no spare memory row left", Name(rank)),
           "replace the GPU");
    } else if (errors.remap_pending) {
      Warn(rank, "gpu_memory_errors",
           fmt::format("{}: a bad memory row is in use until the GPU is reset", Name(rank)),
           "reset the GPU (nvidia-smi --gpu-reset)");
    }
  }

  // GPUs of one name; those that several ranks share are in each other's way.
  void JudgeRates(std::string_view what, uint64_t GpuFacts::*rate, std::string (*show)(uint64_t)) {
    std::map<std::string, int> users;
    for (const GpuFacts& gpu : evidence_.gpus) ++users[gpu.uuid];
    std::map<std::string, std::vector<uint64_t>> rates;
    const auto counts = [&](const GpuFacts& gpu) { return gpu.*rate > 0 && users[gpu.uuid] == 1; };
    for (const GpuFacts& gpu : evidence_.gpus) {
      if (counts(gpu)) rates[gpu.name].push_back(gpu.*rate);
    }
    for (auto& [name, values] : rates) std::ranges::sort(values);
    for (size_t rank = 0; rank < evidence_.gpus.size(); ++rank) {
      const GpuFacts& gpu = evidence_.gpus[rank];
      if (!counts(gpu) || rates[gpu.name].size() < kFewestToCompare) continue;
      const uint64_t median = rates[gpu.name][rates[gpu.name].size() / 2];
      if (static_cast<double>(gpu.*rate) >= kSlowShare * static_cast<double>(median)) continue;
      Warn(rank, "gpu_slow",
           fmt::format("{} is slow: {} {}, the median {} {}", Name(rank), what, show(gpu.*rate), gpu.name,
                       show(median)),
           "another process may use it (nvidia-smi), or it runs hot or below its power limit; else leave the "
           "node out");
    }
  }

  const Evidence& evidence_;
  Verdict& verdict_;
};

}  // namespace

void JudgeGpus(const Evidence& evidence, Verdict& verdict) { GpuJudge(evidence, verdict).Run(); }

}  // namespace muster::check

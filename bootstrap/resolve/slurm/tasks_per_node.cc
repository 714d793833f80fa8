#include "bootstrap/resolve/slurm/tasks_per_node.h"

#include <numeric>

#include "comm/base/parse.h"

namespace muster::resolve {
namespace {

constexpr size_t kMostNodes = 262144;

tl::unexpected<Error> Bad(std::string_view text, std::string_view part) {
  return Fail(Code::kBadEnvironment,
              "\"{}\" is not a list of tasks per node such as 2(x3),1: \"{}\" is not a count", text, part);
}

}  // namespace

Result<std::vector<int>> ParseTasksPerNode(std::string_view text) {
  std::vector<int> counts;
  for (const std::string_view part : Split(text, ',')) {
    const size_t open = part.find('(');
    const auto count = ParseInteger<int>(part.substr(0, open));
    if (!count || *count < 0) return Bad(text, part);
    size_t repeat = 1;
    if (open != std::string_view::npos) {
      const std::string_view run = part.substr(open);
      if (run.size() < 4 || run.substr(0, 2) != "(x" || run.back() != ')') return Bad(text, part);
      const auto times = ParseInteger<size_t>(run.substr(2, run.size() - 3));
      if (!times || *times == 0) return Bad(text, part);
      repeat = *times;
    }
    if (repeat > kMostNodes - counts.size()) {
      return Fail(Code::kBadEnvironment, "\"{}\" lists more than {} nodes", text, kMostNodes);
    }
    counts.insert(counts.end(), repeat, *count);
  }
  return counts;
}

int64_t SumOf(const std::vector<int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace muster::resolve

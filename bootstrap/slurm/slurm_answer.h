// The output of muster-slurm, read strictly: it may be of another release, or another program altogether.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::slurm {

struct SlurmAnswer {
  struct Node {
    std::string name;
    std::vector<int> tasks;  // numbers within its component

    friend bool operator==(const Node&, const Node&) = default;
  };
  using Layout = std::vector<Node>;

  std::vector<std::optional<Layout>> layouts;  // in the order of the request
  std::optional<int64_t> end_time;             // seconds since 1970
  std::map<std::string, std::string> addresses;
  std::vector<std::string> problems;

  friend bool operator==(const SlurmAnswer&, const SlurmAnswer&) = default;
};

// Longer is refused.
inline constexpr size_t kLongestSlurmAnswer = size_t{64} << 20;

// Error: kDisagreement, "muster-slurm printed ...".
Result<SlurmAnswer> ParseSlurmAnswer(std::string_view text);

}  // namespace muster::slurm

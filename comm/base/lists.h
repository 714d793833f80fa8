// Ranks, nodes and lists of them in messages, status, reports and logs. Lists of ranks are ascending.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

inline constexpr size_t kRangesNamed = 16;

// {0,1,2,3,7} -> "0-3,7".
std::string FormatRanges(const std::vector<int>& ascending);

// The same, readable on a thousand nodes: at most `most` ranges, {0,2,4,...} -> "0,2,4,6 and 312 more".
std::string FormatSomeRanges(const std::vector<int>& ascending, size_t most = kRangesNamed);

// "rank 5 on gpu03", "ranks 0-3,7"; as FormatSomeRanges. The node, if any, is that of all these ranks.
std::string FormatRanks(const std::vector<int>& ascending, std::string_view node = "");

// The same for one rank. comm/roster.h has both for the ranks of a group.
std::string DescribeRank(int rank, std::string_view node);

// "1 rank", "8 ranks".
std::string Counted(int count, std::string_view what);

// {"gpu01","gpu02","gpu03","gpu07"} -> "gpu[01-03,07]", a host list of Slurm. Keeps the order.
std::string FormatNodes(const std::vector<std::string>& names);

// The same in at most `most` bytes: "gpu[01-03,07] and 312 more". The first name is always there.
std::string FormatSomeNodes(const std::vector<std::string>& names, size_t most);

}  // namespace muster

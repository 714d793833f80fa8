// Shared by the tests of a map's members: ranks that join, and work until the map is over.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/map/member.h"
#include "tests/comm/map/groups_in_process.h"

namespace muster::map {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline Identity Of(uint64_t items, const std::string& work = "square") {
  return {items, {}, DigestOf(AsBytes(work)), work};
}

inline Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

inline Bytes Square(uint64_t item) { return Text(std::to_string(item * item)); }

inline std::unique_ptr<Member> JoinAs(GroupsInProcess& groups, int rank, const Identity& identity,
                                      const Options& options = {}) {
  auto member = Member::Join(groups.group(rank), identity, options, Deadline::After(seconds(60)));
  EXPECT_TRUE(member) << ToString(member.error());
  return member ? *std::move(member) : nullptr;
}

inline std::string Key(uint64_t item) { return "k" + std::to_string(item); }

// Takes and commits until the map is over; how many items that were.
inline uint64_t Work(Member& member) {
  uint64_t done = 0;
  while (true) {
    const auto item = member.Next();
    EXPECT_TRUE(item) << ToString(item.error());
    if (!item || !*item) return done;
    EXPECT_TRUE(member.Commit((*item)->index, Key((*item)->index), Format::kJson, Square((*item)->index),
                              milliseconds(1)));
    ++done;
  }
}

inline std::string ResultsOf(Member& member, uint64_t items) {
  const auto records = member.Read(0, items);
  EXPECT_TRUE(records) << ToString(records.error());
  std::string all;
  for (const JournalRecord& record : *records) all += std::string(AsText(record.payload)) + "\n";
  return all;
}

inline std::string ExpectedResults(uint64_t items) {
  std::string all;
  for (uint64_t item = 0; item < items; ++item) all += std::to_string(item * item) + "\n";
  return all;
}

// A group of one process without a control plane.
class GroupWithoutRoot : public Group {
 public:
  explicit GroupWithoutRoot(Roster roster, int rank = 0) : roster_(std::move(roster)), rank_(rank) {}
  int rank() const override { return rank_; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view, ByteView, Deadline) override { return {}; }
  int failure_fd() const override { return -1; }
  std::optional<Error> failure() const override { return std::nullopt; }
  void Fail(const Error&) override {}
  Status Leave(Deadline) override { return {}; }

 private:
  const Roster roster_;
  const int rank_;
  const GroupKey key_{};
};

}  // namespace muster::map

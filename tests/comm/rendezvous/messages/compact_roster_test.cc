#include "comm/rendezvous/messages/compact_roster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>

#include "comm/rendezvous/messages/columns.h"

namespace muster::rendezvous {
namespace {

Bytes AsPayload(std::string_view text) { return {text.begin(), text.end()}; }

// As `muster run` makes it; `jitter`: the processes of a node did not start one behind the other.
Roster MakeRoster(int nodes, int ranks, int jitter) {
  Roster roster;
  for (int node = 0; node < nodes; ++node) {
    const std::string address = fmt::format("10.{}.{}.{}", node >> 16, node >> 8 & 255, node & 255);
    roster.nodes.push_back({fmt::format("gpu{:05}", node), {address}});
    const int first_pid = 4000 + node * 7919 % 100000;
    for (int local = 0; local < ranks; ++local) {
      const int pid = first_pid + local + jitter * (node * 31 + local * 17) % 11;
      roster.members.push_back(
          {node, local, pid, local == 0 ? AsPayload(address) : Bytes{}, node * ranks + local});
    }
  }
  return roster;
}

void ExpectReadsBack(const Roster& roster) {
  Roster again;
  ASSERT_TRUE(DecodeTable(EncodeTable(roster), again));
  EXPECT_TRUE(again == roster);
  std::vector<int> seen(roster.members.size());
  again.ForEachPayload([&](int rank, ByteView payload) {
    ++seen[static_cast<size_t>(rank)];
    EXPECT_TRUE(std::ranges::equal(payload, roster.PayloadOf(rank))) << rank;
  });
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(CompactRoster, ReadsBack) {
  ExpectReadsBack({});
  ExpectReadsBack(MakeRoster(1, 1, 0));
  ExpectReadsBack(MakeRoster(3, 2, 1));
  ExpectReadsBack(MakeRoster(300, 8, 1));
}

TEST(CompactRoster, ReadsBackAnIrregularGroup) {
  Roster roster;
  roster.nodes = {{"", {}},
                  {"n9", {"fd00::9", "10.0.0.9"}},
                  {"n10", {"fd00::a", "10.0.0.10", ""}},
                  {"n10", {"198.18.0.1"}},
                  {"login-1.a2.example", {}}};
  const int smallest = std::numeric_limits<int>::min();
  const int largest = std::numeric_limits<int>::max();
  roster.members = {{4, 7, largest, {1, 0, 255}}, {0, -1, smallest, {}}, {2, 0, 12, {1, 0, 255}},
                    {0, largest, 0, {0}},         {3, smallest, -5, {}}, {1, 1, 13, {9, 9}}};
  ExpectReadsBack(roster);
}

// Nodes have different pids, and the pid of a node's processes is all that their 8 ranks do not have in common with those of other
// nodes.
TEST(CompactRoster, AHundredThousandRanksOfARegularLayoutTakeTensOfKilobytes) {
  EXPECT_LT(EncodeTable(MakeRoster(12500, 8, 0)).size(), 40000U);
  EXPECT_LT(EncodeTable(MakeRoster(12500, 8, 1)).size(), 120000U);
  ExpectReadsBack(MakeRoster(12500, 8, 0));
  ExpectReadsBack(MakeRoster(12500, 8, 1));
}

TEST(CompactRoster, TheColumnsOfARegularLayoutDoNotGrowWithTheNodes) {
  const auto size_without_pids = [](int nodes) {
    Roster roster = MakeRoster(nodes, 8, 0);
    for (Roster::Member& member : roster.members.own()) member.pid = 1;
    for (Roster::Node& node : roster.nodes.own()) node = {"n", {}};
    for (Roster::Member& member : roster.members.own()) member.payload = {};
    return EncodeTable(roster).size();
  };
  EXPECT_LT(size_without_pids(12500), 70U);
  EXPECT_LE(size_without_pids(12500), size_without_pids(1000) + 8);
}

TEST(CompactRoster, ReadsBackNodesOfDifferentSizes) {
  Roster roster = MakeRoster(200, 8, 0);
  for (const int odd : {17, 100, 101}) {
    roster.members.own().push_back({odd, 8, 7, {}, roster.size()});
    roster.members.own()[static_cast<size_t>(odd) * 8].pid = -1;
  }
  ExpectReadsBack(roster);
}

// Ranks in turn on the nodes.
Roster MakeCyclicRoster(int nodes, int ranks) {
  Roster roster;
  for (int node = 0; node < nodes; ++node) roster.nodes.push_back({fmt::format("n{}", node * node), {}});
  for (int rank = 0; rank < ranks; ++rank)
    roster.members.push_back(
        {rank % nodes, rank / nodes, 100 + rank * 7 % 5, AsPayload(fmt::format("p{}", rank))});
  return roster;
}

TEST(CompactRoster, LooksUpOneMemberOrNodeWithoutTheOthers) {
  for (const Roster& roster : {MakeRoster(700, 3, 1), MakeCyclicRoster(50, 777)}) {
    Roster again;
    ASSERT_TRUE(DecodeTable(EncodeTable(roster), again));
    for (const size_t rank : {size_t{500}, size_t{0}, roster.members.size() - 1, size_t{129}}) {
      EXPECT_EQ(again.members[rank], roster.members[rank]) << rank;
      const int node = roster.members[rank].node;
      EXPECT_EQ(again.NodeName(static_cast<int>(rank)), roster.NodeName(static_cast<int>(rank)));
      EXPECT_EQ(again.nodes[static_cast<size_t>(node)], roster.nodes[static_cast<size_t>(node)]);
      EXPECT_EQ(again.RanksOn(node), roster.RanksOn(node));
      EXPECT_EQ(again.LocalSize(node), roster.LocalSize(node));
    }
    EXPECT_TRUE(again.RanksOn(10'000).empty());
  }
}

TEST(CompactRoster, ItsCopyOutlivesIt) {
  const Roster roster = MakeCyclicRoster(3, 300);
  auto decoded = std::make_unique<Roster>();
  ASSERT_TRUE(DecodeTable(EncodeTable(roster), *decoded));
  const Roster::Member member = decoded->members[299];
  Roster copy = *decoded;
  copy.members.own()[299].pid = 5;
  EXPECT_EQ(decoded->members[299], roster.members[299]);
  EXPECT_EQ(copy.members[299].pid, 5);
  EXPECT_EQ(copy.RanksOn(2), roster.RanksOn(2));
  decoded.reset();
  EXPECT_EQ(copy.nodes, roster.nodes);
  EXPECT_EQ(member, roster.members[299]);
}

TEST(CompactRoster, ThreadsReadItAtTheSameTime) {
  const Roster roster = MakeCyclicRoster(7, 2000);
  Roster again;
  ASSERT_TRUE(DecodeTable(EncodeTable(roster), again));
  std::array<bool, 4> equal{};
  {
    std::vector<std::jthread> threads;
    for (bool& mine : equal) threads.emplace_back([&] { mine = again == roster; });
  }
  EXPECT_THAT(equal, testing::Each(true));
}

TEST(CompactRoster, RefusesWhatIsCutOffOrTooLong) {
  const Bytes whole = EncodeTable(MakeRoster(3, 2, 1));
  for (size_t length = 0; length < whole.size(); ++length) {
    Roster roster;
    EXPECT_FALSE(DecodeTable(ByteView(whole).first(length), roster)) << length;
  }
  Bytes longer = whole;
  longer.push_back(0);
  Roster roster;
  EXPECT_FALSE(DecodeTable(longer, roster));
}

TEST(CompactRoster, RefusesAMemberOnNoNode) {
  for (const int node : {-1, 2}) {
    Roster roster = MakeRoster(2, 1, 0);
    roster.members.own()[1].node = node;
    Roster again;
    EXPECT_FALSE(DecodeTable(EncodeTable(roster), again)) << node;
  }
}

TEST(CompactRoster, RefusesMoreMembersThanAnyGroupHas) {
  ColumnWriter writer;
  writer.Number(0);
  writer.Number(uint64_t{1} << 40);
  Roster roster;
  EXPECT_FALSE(DecodeTable(writer.Take(), roster));
}

// Of no members, on a million nodes: all but the first have `addresses` empty ones.
Bytes TableOfAddresses(int addresses) {
  constexpr size_t kNodes = size_t{1} << 20;
  std::vector<int> counts(kNodes, addresses);
  counts[0] = 0;
  ColumnWriter writer;
  writer.Number(kNodes);
  writer.Number(0);
  writer.Texts(std::vector<std::string_view>(kNodes));
  writer.Numbers(counts);
  const std::vector<std::string_view> texts(kNodes - 1);
  for (int slot = 0; slot < addresses; ++slot) writer.Texts(texts);
  writer.Numbers(std::vector<int>(kNodes));  // pids: the members' columns are empty
  return writer.Take();
}

TEST(CompactRoster, RefusesAddressesThatAFewBytesClaim) {
  Roster roster;
  EXPECT_TRUE(DecodeTable(TableOfAddresses(4), roster));
  const Bytes many = TableOfAddresses(20);
  EXPECT_LT(many.size(), 300U);
  EXPECT_FALSE(DecodeTable(many, roster));
}

// ---- columns

std::vector<std::string> ReadTexts(const Bytes& bytes, size_t count, size_t most_text) {
  ColumnReader reader(bytes, most_text);
  const TextColumn column = reader.Texts(count);
  std::vector<std::string> texts;
  column.ForEach([&](size_t, const std::string& text) { texts.push_back(text); });
  if (!reader.Finish()) texts = {"malformed"};
  return texts;
}

TEST(Columns, TextsThatCountTakeAFewBytes) {
  std::vector<std::string> texts;
  for (int i = 95; i < 10000; ++i) texts.push_back(fmt::format("gpu{:03}.a7.example", i));
  ColumnWriter writer;
  writer.Texts({texts.begin(), texts.end()});
  const Bytes bytes = writer.Take();
  EXPECT_LT(bytes.size(), 30U);
  EXPECT_EQ(ReadTexts(bytes, texts.size(), 1U << 20), texts);
  EXPECT_EQ(ReadTexts(bytes, texts.size(), 1000), std::vector<std::string>{"malformed"});
}

TEST(Columns, WhatHasNoNumberCannotCount) {
  ColumnWriter writer;
  writer.Texts({"a1", "a2"});
  Bytes bytes = writer.Take();
  ASSERT_EQ(ReadTexts(bytes, 2, 100), (std::vector<std::string>{"a1", "a2"}));
  bytes.back() = 1;  // its second number
  EXPECT_EQ(ReadTexts(bytes, 2, 100), std::vector<std::string>{"malformed"});
}

}  // namespace
}  // namespace muster::rendezvous

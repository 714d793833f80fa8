#include "bootstrap/check/findings/links.h"

#include <gtest/gtest.h>

#include "bootstrap/check/findings/facts.h"

namespace muster::check {
namespace {

TEST(MedianOf, IsTheBetterOfTwo) {
  const socket::LinkFigures slow{40'000'000, -9, 10, 20};
  const socket::LinkFigures quick{45'000, 3, 1000, 2000};
  EXPECT_EQ(MedianOf({slow, quick}), quick);
  EXPECT_EQ(MedianOf({slow, quick, slow}), slow);
  EXPECT_EQ(MedianOf({}), socket::LinkFigures{});
}

TEST(NodeLinks, TravelUnchanged) {
  const NodeLinks links{{{3, "10.1.0.4:4001: Connection refused"}, {0, ""}}, 7, {45'000, -12, 1, UINT64_MAX}};
  EXPECT_EQ(DecodeNodeLinks(EncodeFields(links), 4, "links"), links);
}

TEST(NodeLinks, AreTheseBytes) {
  EXPECT_EQ(EncodeFields(NodeLinks{{{3, "x"}}, 7, {45'000, -2, 1, UINT64_MAX}}),
            (Bytes{1,    0,    0, 0, 3, 0, 0, 0,    1,    0,    0,    0,    'x',  7,    0,    0,    0,
                   0xc8, 0xaf, 0, 0, 0, 0, 0, 0,    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
                   0,    0,    0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

TEST(NodeLinks, OfANodeThatDoesNotExistAreRefused) {
  for (const int node : {4, -1}) {
    const auto links = DecodeNodeLinks(EncodeFields(NodeLinks{{{node, "x"}}, 0, {}}), 4, "links");
    EXPECT_EQ(links.error().message, "malformed links: it ends too early");
  }
}

TEST(NodeLinks, CutShortAreRefused) {
  const Bytes good = EncodeFields(NodeLinks{{{1, "x"}}, 3, {1, 2, 3, 4}});
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(DecodeNodeLinks(ByteView(good).first(length), 4, "links"));
}

TEST(Facts, TravelUnchanged) {
  const RankFacts rank{1024, 4096, kUnlimited, 8, "0,1"};
  const RankFacts bare{1, 2, 3, 4, std::nullopt};
  const NodeFacts node{"0.1.0", "6.1.0", "2.36", "ib0", 9000, 5, 6, 8, true};
  EXPECT_EQ(DecodeFields<RankFacts>(EncodeFields(rank), "facts"), rank);
  EXPECT_EQ(DecodeFields<RankFacts>(EncodeFields(bare), "facts"), bare);
  EXPECT_EQ(DecodeFields<NodeFacts>(EncodeFields(node), "facts"), node);
}

TEST(Facts, AreTheseBytes) {
  EXPECT_EQ(EncodeFields(RankFacts{1, 2, kUnlimited, 4, "0"}),
            (Bytes{1,    0,    0,    0,    0,    0,    0,    0, 2, 0, 0, 0, 0, 0, 0, 0, 0xff,
                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 1, 1, 0, 0, 0, '0'}));
  EXPECT_EQ(EncodeFields(RankFacts{}), Bytes(33, 0));
  EXPECT_EQ(EncodeFields(NodeFacts{"a", "b", "c", "", 1, 2, 3, 4, true}),
            (Bytes{1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b', 1, 0, 0, 0, 'c', 0, 0, 0, 0, 1, 0, 0,
                   0, 2, 0, 0, 0,   0, 0, 0, 0, 3,   0, 0, 0, 0, 0,   0, 0, 4, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace muster::check

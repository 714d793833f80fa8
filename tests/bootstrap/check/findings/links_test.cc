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
  WireWriter writer;
  Write(writer, links);
  WireReader reader(writer.bytes());
  EXPECT_EQ(ReadNodeLinks(reader, 4), links);
  EXPECT_TRUE(reader.Finish("links"));
}

TEST(NodeLinks, AreTheseBytes) {
  WireWriter writer;
  Write(writer, NodeLinks{{{3, "x"}}, 7, {45'000, -2, 1, UINT64_MAX}});
  EXPECT_EQ(writer.bytes(),
            (Bytes{1,    0,    0, 0, 3, 0, 0, 0,    1,    0,    0,    0,    'x',  7,    0,    0,    0,
                   0xc8, 0xaf, 0, 0, 0, 0, 0, 0,    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
                   0,    0,    0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
}

TEST(NodeLinks, OfANodeThatDoesNotExistAreRefused) {
  WireWriter writer;
  Write(writer, NodeLinks{{{4, "x"}}, 0, {}});
  WireReader reader(writer.bytes());
  ReadNodeLinks(reader, 4);
  EXPECT_FALSE(reader.Finish("links"));
}

TEST(NodeLinks, CutShortAreRefused) {
  WireWriter writer;
  Write(writer, NodeLinks{{{1, "x"}}, 3, {1, 2, 3, 4}});
  for (size_t length = 0; length < writer.bytes().size(); ++length) {
    WireReader reader(ByteView(writer.bytes()).first(length));
    ReadNodeLinks(reader, 4);
    EXPECT_FALSE(reader.Finish("links"));
  }
}

TEST(Facts, TravelUnchanged) {
  const RankFacts rank{1024, 4096, kUnlimited, 8, "0,1"};
  const RankFacts bare{1, 2, 3, 4, std::nullopt};
  const NodeFacts node{"0.1.0", "6.1.0", "2.36", "ib0", 9000, 5, 6, 8, true};
  WireWriter writer;
  Write(writer, rank);
  Write(writer, bare);
  Write(writer, node);
  WireReader reader(writer.bytes());
  EXPECT_EQ(ReadRankFacts(reader), rank);
  EXPECT_EQ(ReadRankFacts(reader), bare);
  EXPECT_EQ(ReadNodeFacts(reader), node);
  EXPECT_TRUE(reader.Finish("facts"));
}

TEST(Facts, AreTheseBytes) {
  WireWriter rank;
  Write(rank, RankFacts{1, 2, kUnlimited, 4, "0"});
  EXPECT_EQ(rank.bytes(), (Bytes{1,    0,    0,    0,    0,    0,    0,    0, 2, 0, 0, 0, 0, 0, 0, 0, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 1, 1, 0, 0, 0, '0'}));
  WireWriter bare;
  Write(bare, RankFacts{});
  EXPECT_EQ(bare.bytes(), Bytes(33, 0));
  WireWriter node;
  Write(node, NodeFacts{"a", "b", "c", "", 1, 2, 3, 4, true});
  EXPECT_EQ(node.bytes(), (Bytes{1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b', 1, 0, 0, 0, 'c', 0, 0, 0, 0, 1, 0, 0,
                                 0, 2, 0, 0, 0,   0, 0, 0, 0, 3,   0, 0, 0, 0, 0,   0, 0, 4, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace muster::check

#include "comm/base/fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

enum class Colour : uint8_t { kRed = 1, kGreen, kBlue };

struct Leaf {
  Colour colour = Colour::kRed;
  std::string name;

  friend bool operator==(const Leaf&, const Leaf&) = default;
};
void Fields(auto& wire, Is<Leaf> auto& leaf) {
  wire(Between(leaf.colour, Colour::kRed, Colour::kBlue), AtMost(leaf.name, 3));
}

struct Tree {
  bool tall = false;
  uint16_t age = 0;
  int height = 0;
  int64_t roots = 0;
  std::array<uint8_t, 2> mark{};
  std::vector<Leaf> leaves;

  friend bool operator==(const Tree&, const Tree&) = default;
};
void Fields(auto& wire, Is<Tree> auto& tree) {
  wire(tree.tall, tree.age, tree.height, tree.roots, tree.mark, tree.leaves);
}

const Tree kTree{true, 513, -2, -1, {7, 8}, {{Colour::kBlue, "abc"}}};
const Bytes kBytes = {1, 1, 2, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                      7, 8, 1, 0,    0,    0,    3,    3,    0,    0,    0,    'a',  'b',  'c'};

std::string MessageOf(const Bytes& bytes) {
  const auto tree = DecodeFields<Tree>(bytes, "tree");
  return tree ? "" : tree.error().message;
}

Bytes With(size_t at, uint8_t value) {
  Bytes bytes = kBytes;
  bytes.at(at) = value;
  return bytes;
}

TEST(Fields, TravelInTheOrderOfTheirList) {
  EXPECT_EQ(EncodeFields(kTree), kBytes);
  EXPECT_EQ(DecodeFields<Tree>(kBytes, "tree"), kTree);
}

TEST(Fields, AreReadStrictly) {
  for (size_t length = 0; length < kBytes.size(); ++length)
    EXPECT_EQ(MessageOf({kBytes.begin(), kBytes.begin() + static_cast<ptrdiff_t>(length)}),
              "malformed tree: it ends too early");
  Bytes longer = kBytes;
  longer.push_back(0);
  EXPECT_EQ(MessageOf(longer), "malformed tree: 1 bytes too many");
  EXPECT_FALSE(DecodeFields<Tree>(With(0, 2), "tree")) << "a bool";
  EXPECT_FALSE(DecodeFields<Tree>(With(21, 0), "tree")) << "a colour";
  EXPECT_FALSE(DecodeFields<Tree>(With(21, 4), "tree")) << "a colour";
  EXPECT_FALSE(DecodeFields<Tree>(With(18, 1), "tree")) << "more leaves than bytes";
}

TEST(Fields, ATextAtMostSoLongIsCutAndALongerOneRefused) {
  EXPECT_EQ(EncodeFields(Leaf{Colour::kRed, "abcd"}), EncodeFields(Leaf{Colour::kRed, "abc"}));
  EXPECT_TRUE(DecodeFields<Leaf>(EncodeFields(Colour::kRed, std::string("abc")), "leaf"));
  EXPECT_FALSE(DecodeFields<Leaf>(EncodeFields(Colour::kRed, std::string("abcd")), "leaf"));
}

TEST(Fields, AnyByteTakesEveryValue) {
  for (const uint8_t byte : {uint8_t{0}, uint8_t{1}, uint8_t{255}}) {
    FieldReader reader(ByteView(&byte, 1));
    Colour colour{};
    reader(AnyByte(colour));
    EXPECT_EQ(static_cast<uint8_t>(colour), byte);
    EXPECT_TRUE(reader.Finish("byte"));
  }
}

TEST(Fields, AViewIsOfTheBytesThatAreRead) {
  const Bytes bytes = EncodeFields(Bytes{1, 2, 3}, uint8_t{9});
  FieldReader reader(bytes);
  ByteView view;
  reader(view);
  EXPECT_EQ(view.data(), bytes.data() + 4);
  EXPECT_EQ(view.size(), 3U);
  EXPECT_EQ(reader.remaining(), 1U);
  reader.SkipRest();
  EXPECT_TRUE(reader.Finish("bytes"));
}

}  // namespace
}  // namespace muster

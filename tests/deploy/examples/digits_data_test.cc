#include "deploy/examples/digits_data.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::examples {
namespace {

std::string Line(std::string_view pixel, std::string_view label) {
  std::string line;
  for (size_t i = 0; i < kPixels; ++i) line.append(pixel).append(",");
  return line.append(label).append("\n");
}

Error ErrorOf(std::string_view text) {
  const Result<Digits> digits = ParseDigits(text, "d.csv");
  return digits ? Error{Code::kInternal, "parsed", ""} : digits.error();
}

TEST(ParseDigits, ReadsPixelsAndLabels) {
  std::string text = Line("0", "3") + Line("16", "9");
  text[0] = '7';
  const Result<Digits> digits = ParseDigits(text, "d.csv");
  ASSERT_TRUE(digits) << digits.error().message;
  EXPECT_EQ(digits->labels, (std::vector<uint8_t>{3, 9}));
  ASSERT_EQ(digits->pixels.size(), 2 * kPixels);
  EXPECT_EQ(digits->image(0)[0], 7);
  EXPECT_EQ(digits->image(0)[1], 0);
  EXPECT_EQ(digits->image(1)[63], 16);
}

TEST(ParseDigits, LastLineNeedsNoLineFeed) {
  const std::string text = Line("1", "3") + Line("2", "4");
  EXPECT_EQ(*ParseDigits(text, "a"), *ParseDigits(std::string_view(text).substr(0, text.size() - 1), "b"));
}

struct BadCase {
  std::string third_line;
  std::string message;
};

TEST(ParseDigits, NamesFileAndLine) {
  const std::string good = Line("1", "2") + Line("3", "4");
  const std::string pixels = Line("1", "");
  const BadCase cases[] = {
      {"\n", "d.csv:3: 1 values where 65 are expected (64 pixels and a label)"},
      {"1," + Line("1", "2"), "d.csv:3: 66 values where 65 are expected (64 pixels and a label)"},
      {pixels.substr(0, pixels.size() - 2) + "\n",
       "d.csv:3: 64 values where 65 are expected (64 pixels and a label)"},
      {Line("17", "2"), "d.csv:3: value 1 is \"17\": a pixel is a whole number from 0 to 16"},
      {Line("1", "10"), "d.csv:3: value 65 is \"10\": a label is a whole number from 0 to 9"},
      {Line("1", ""), "d.csv:3: value 65 is \"\": a label is a whole number from 0 to 9"},
      {Line("1", "2\r"), "d.csv:3: value 65 is \"2?\": a label is a whole number from 0 to 9"},
      {Line("1", " 2"), "d.csv:3: value 65 is \" 2\": a label is a whole number from 0 to 9"},
      {Line("1", "-1"), "d.csv:3: value 65 is \"-1\": a label is a whole number from 0 to 9"},
      {Line("1.0", "2"), "d.csv:3: value 1 is \"1.0\": a pixel is a whole number from 0 to 16"},
      {Line(std::string(30, '9'), "2"),
       "d.csv:3: value 1 is \"99999999999999999999...\": a pixel is a whole number from 0 to 16"},
  };
  for (const BadCase& bad : cases) {
    const Error error = ErrorOf(std::string(good).append(bad.third_line).append(good));
    EXPECT_EQ(error.code, Code::kConfiguration);
    EXPECT_EQ(error.message, bad.message);
  }
}

TEST(ParseDigits, NeedsTwoImages) {
  EXPECT_EQ(ErrorOf("").message, "d.csv: 0 images; a nearest neighbour needs at least 2");
  EXPECT_EQ(ErrorOf(Line("1", "2")).message, "d.csv: 1 images; a nearest neighbour needs at least 2");
}

TEST(LoadDigits, ReadsTheShippedData) {
  const Result<Digits> digits = LoadDigits("deploy/examples/data/digits.csv");
  ASSERT_TRUE(digits) << digits.error().message;
  EXPECT_EQ(digits->size(), 1797u);
  // The class counts that the data set's own description gives.
  const int counts[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (uint8_t label = 0; label < 10; ++label) {
    EXPECT_EQ(std::ranges::count(digits->labels, label), counts[label]) << int{label};
  }
}

TEST(LoadDigits, SaysWhereToFindTheData) {
  const Result<Digits> digits = LoadDigits("no/such.csv");
  ASSERT_FALSE(digits);
  EXPECT_EQ(digits.error().code, Code::kSystem);
  EXPECT_EQ(digits.error().message, "cannot open no/such.csv: No such file or directory");
  EXPECT_EQ(digits.error().hint, "run from the repository's root, or say where it is: --data FILE");
}

TEST(Digest, ChangesWithEveryPixelAndLabel) {
  const Digits digits = *ParseDigits(Line("1", "2") + Line("3", "4"), "d.csv");
  Digits pixel = digits;
  pixel.pixels[100] = 5;
  Digits label = digits;
  label.labels[1] = 5;
  EXPECT_EQ(Digest(digits), Digest(Digits(digits)));
  EXPECT_NE(Digest(digits), Digest(pixel));
  EXPECT_NE(Digest(digits), Digest(label));
  EXPECT_NE(Digest(pixel), Digest(label));
}

}  // namespace
}  // namespace muster::examples

#include "bootstrap/cli/help/layout.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(Wrapped, FillsLinesUpToTheWidth) {
  EXPECT_EQ(Wrapped("one two three four", 0, 9), "one two\nthree\nfour\n");
  EXPECT_EQ(Wrapped("one two three four", 2, 11), "  one two\n  three\n  four\n");
  EXPECT_EQ(Wrapped("abc def", 0, 7), "abc def\n");
}

TEST(Wrapped, JoinsTheLinesOfAParagraph) {
  EXPECT_EQ(Wrapped("one\ntwo\n\nthree", 1, 80), " one two\n\n three\n");
}

TEST(Wrapped, LeavesALongWordWhole) { EXPECT_EQ(Wrapped("a abcdefghij b", 0, 5), "a\nabcdefghij\nb\n"); }

TEST(Wrapped, KeepsIndentedLines) {
  EXPECT_EQ(Wrapped("so:\n  a  b\n  c\nend", 1, 80), " so:\n   a  b\n   c\n end\n");
}

TEST(Wrapped, OfNothingIsNothing) { EXPECT_EQ(Wrapped("", 4, 80), ""); }

TEST(Style, HasNoColourUnlessAsked) {
  EXPECT_EQ(Style{}.Strong("x"), "x");
  EXPECT_EQ((Style{80, true}.Strong("x")), "\x1b[1mx\x1b[0m");
}

// The standard output of a test is a file or a pipe.
TEST(Style, IsPlainWhereNoTerminalIs) {
  EXPECT_FALSE(StyleOfStandardOutput(ColourChoice::kAuto, false, "xterm").colour);
  EXPECT_FALSE(StyleOfStandardOutput(ColourChoice::kNever, false, "xterm").colour);
  EXPECT_TRUE(StyleOfStandardOutput(ColourChoice::kAlways, true, "dumb").colour);
}

}  // namespace
}  // namespace muster::cli

#include "bootstrap/output/line_labeller.h"

#include <gtest/gtest.h>

namespace muster::output {
namespace {

// All of it in one piece, and byte by byte: it must be the same.
std::string Labelled(const std::string& text) {
  LineLabeller whole("3: ");
  std::string out;
  whole.Take(text, out);
  whole.Flush(out);
  LineLabeller bytewise("3: ");
  std::string again;
  for (const char byte : text) bytewise.Take({&byte, 1}, again);
  bytewise.Flush(again);
  EXPECT_EQ(again, out);
  return out;
}

TEST(LineLabeller, LabelsEveryLine) {
  EXPECT_EQ(Labelled("a\nbc\n"), "3: a\n3: bc\n");
  EXPECT_EQ(Labelled("\n\na\n"), "3: \n3: \n3: a\n");
  EXPECT_EQ(Labelled(""), "");
}

TEST(LineLabeller, EndsALastLineThatHasNoEnd) { EXPECT_EQ(Labelled("a\nb"), "3: a\n3: b\n"); }

TEST(LineLabeller, OnlyWholeLinesComeOut) {
  LineLabeller labeller("0: ");
  std::string out;
  labeller.Take("a\nb", out);
  EXPECT_EQ(out, "0: a\n");
  EXPECT_TRUE(labeller.unfinished());
  labeller.Take("c\n", out);
  EXPECT_EQ(out, "0: a\n0: bc\n");
  EXPECT_FALSE(labeller.unfinished());
}

TEST(LineLabeller, RepeatsTheLabelWhereALineIsWrittenAnew) {
  EXPECT_EQ(Labelled("10%\r20%\r\n"), "3: 10%\r3: 20%\r\n");
  EXPECT_EQ(Labelled("a\r\n"), "3: a\r\n");
  EXPECT_EQ(Labelled("\r\ra\n"), "3: \r3: \r3: a\n");
}

TEST(LineLabeller, PassesAnyByte) {
  const std::string bytes("\0\x01\xff\x80 a\n\0", 8);
  EXPECT_EQ(Labelled(bytes), std::string("3: ") + bytes.substr(0, 7) + "3: " + std::string(1, '\0') + "\n");
}

TEST(LineLabeller, CutsALineThatIsTooLong) {
  const std::string longest(LineLabeller::kLongestLine, 'x');
  EXPECT_EQ(Labelled(longest + "\n"), "3: " + longest + "\n");
  EXPECT_EQ(Labelled(longest + "y\n"), "3: " + longest + "\n3: y\n");
}

}  // namespace
}  // namespace muster::output

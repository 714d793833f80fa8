#include "bootstrap/output/line_tail.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::output {
namespace {

std::string TailOf(std::string_view text) {
  LineTail tail;
  tail.Append(text);
  return tail.Text();
}

std::string Lines(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

TEST(LineTail, IsTheWholeOfLittle) {
  EXPECT_EQ(TailOf(""), "");
  EXPECT_EQ(TailOf("\n"), "");
  EXPECT_EQ(TailOf("a\nb\n"), "a\nb");
  EXPECT_EQ(TailOf("a\n\nunfinished"), "a\n\nunfinished");
}

TEST(LineTail, KeepsTheLastTwentyLines) {
  EXPECT_EQ(TailOf(Lines(1, 20)) + "\n", Lines(1, 20));
  EXPECT_EQ(TailOf(Lines(1, 21)) + "\n", Lines(2, 21));
  EXPECT_EQ(TailOf(Lines(1, 100'000)) + "\n", Lines(99'981, 100'000));
}

TEST(LineTail, IsTheSameInPieces) {
  const std::string text = Lines(1, 3000);
  LineTail tail;
  for (size_t at = 0; at < text.size(); at += 7) tail.Append(std::string_view(text).substr(at, 7));
  EXPECT_EQ(tail.Text(), TailOf(text));
}

TEST(LineTail, KeepsFourKibibytesOfWholeLines) {
  const std::string line(999, 'x');
  std::string text;
  for (int i = 0; i < 10; ++i) text += line + "\n";
  EXPECT_EQ(TailOf(text), line + "\n" + line + "\n" + line + "\n" + line);
}

TEST(LineTail, MarksALineThatIsCut) {
  EXPECT_EQ(TailOf(std::string(100'000, 'x')), "..." + std::string(4096, 'x'));
  EXPECT_EQ(TailOf("a\n" + std::string(5000, 'x') + "\n"), "..." + std::string(4096, 'x'));
  EXPECT_EQ(TailOf(std::string(5000, 'x') + "\nlast\n"), "last");
}

TEST(LineTail, DoesNotCutThroughACharacter) {
  std::string text;
  while (text.size() < 4098) text += "\xe2\x82\xac";
  std::string kept;
  while (kept.size() + 3 <= 4096) kept += "\xe2\x82\xac";
  EXPECT_EQ(TailOf(text), "..." + kept);
}

TEST(LineTail, ShowsWhatATerminalWouldShowOfAProgressBar) {
  EXPECT_EQ(TailOf("start\n 10%\r 50%\r100%\nend\r\n"), "start\n100%\nend");
  std::string bar = "start\n";
  for (int i = 0; i < 10'000; ++i) bar += "\r" + std::to_string(i) + "/10000";
  EXPECT_EQ(TailOf(bar), "9999/10000");
}

TEST(LineTail, MakesEverythingElseVisible) {
  EXPECT_EQ(TailOf("\x1b[31mred\tx\n"), "\\x1b[31mred\tx");
  EXPECT_EQ(TailOf(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(TailOf("\xff\xc3\xa9\xc3"), "\\xff\xc3\xa9\\xc3");
}

}  // namespace
}  // namespace muster::output

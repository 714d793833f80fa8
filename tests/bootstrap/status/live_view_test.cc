#include "bootstrap/status/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace muster::status {
namespace {

using testing::ElementsAre;

// As much of a terminal as a LiveView uses. A byte for which it has no meaning fails the test.
class Screen {
 public:
  explicit Screen(Window window) : window_(window), rows_(window.rows) {}

  void Write(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const std::string_view rest = bytes.substr(at);
      if (rest.starts_with("\x1b[")) {
        const size_t end = rest.find_first_not_of("0123456789", 2);
        Control(rest.at(end), std::atoi(std::string(rest.substr(2, end - 2)).c_str()));
        at += end + 1;
      } else {
        Put(rest.front());
        ++at;
      }
    }
  }

  // Without the empty rows at the end.
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows = rows_;
    while (!rows.empty() && rows.back().empty()) rows.pop_back();
    return rows;
  }

 private:
  void Put(char byte) {
    if (byte == '\r') {
      column_ = 0;
    } else if (byte == '\n') {
      if (++row_ == window_.rows) {
        rows_.erase(rows_.begin());
        rows_.emplace_back();
        --row_;
      }
    } else {
      ASSERT_LT(column_, window_.columns) << "the row is full";
      std::string& row = rows_.at(row_);
      row.resize(std::max(row.size(), column_ + 1), ' ');
      row.at(column_++) = byte;
    }
  }

  void Control(char what, int number) {
    if (what == 'A') {
      row_ -= std::min<size_t>(row_, static_cast<size_t>(std::max(number, 1)));
    } else if (what == 'H') {
      row_ = column_ = 0;
    } else if (what == 'K') {
      rows_.at(row_).resize(std::min(rows_.at(row_).size(), column_));
    } else if (what == 'J') {
      if (number == 0) rows_.at(row_).resize(std::min(rows_.at(row_).size(), column_));
      for (size_t row = number == 2 ? 0 : row_ + 1; row < window_.rows; ++row) rows_.at(row).clear();
    } else {
      FAIL() << "ESC [ " << number << what;
    }
  }

  Window window_;
  std::vector<std::string> rows_;
  size_t row_ = 0;
  size_t column_ = 0;
};

TEST(FitToWindow, ALongLineContinuesInTheNextRow) {
  EXPECT_THAT(FitToWindow("abcdefgh\nij\n", {5, 4}), ElementsAre("abc", "def", "gh", "ij"));
  EXPECT_THAT(FitToWindow("abc", {5, 4}), ElementsAre("abc"));
  EXPECT_THAT(FitToWindow("a\n\nb", {5, 4}), ElementsAre("a", "", "b"));
  EXPECT_THAT(FitToWindow("          \n", {5, 4}), ElementsAre("   "));
}

TEST(FitToWindow, ALineContinuesWithItsNextWordIndented) {
  EXPECT_THAT(FitToWindow("rank 3 on gpu02: Barrier #7", {9, 17}),
              ElementsAre("rank 3 on gpu02:", "  Barrier #7"));
  EXPECT_THAT(FitToWindow("  4-7  gpu02  in AllReduce #42 f32[1024]", {9, 22}),
              ElementsAre("  4-7  gpu02  in", "    AllReduce #42", "    f32[1024]"));
  EXPECT_THAT(FitToWindow("a word_that_is_too_long", {9, 13}),
              ElementsAre("a", "  word_that_", "  is_too_lon", "  g"));
}

TEST(FitToWindow, TheLastRowCountsTheRest) {
  EXPECT_THAT(FitToWindow("1\n2\n3\n4\n5\n6\n", {5, 40}), ElementsAre("1", "2", "3", "... 3 more rows"));
  EXPECT_THAT(FitToWindow("1\n2\n3\n4\n", {5, 40}), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(FitToWindow("1\n2\n3\n", {1, 1}), ElementsAre("."));
}

TEST(FitToWindow, ACharacterOfSeveralBytesIsOneColumnAndAControlCharacterHasNoEffect) {
  EXPECT_THAT(FitToWindow("äöü\x1b[2J\x7f", {9, 5}), ElementsAre("äöü?", " [2J", " ?"));
}

TEST(LiveView, AFrameReplacesTheOneBefore) {
  const Window window{6, 20};
  Screen screen(window);
  LiveView view;
  screen.Write("$ muster status\r\n");
  screen.Write(view.Draw("one\ntwo is longer\nthree\n", window));
  EXPECT_THAT(screen.Rows(), ElementsAre("$ muster status", "one", "two is longer", "three"));
  screen.Write(view.Draw("1\n2\n", window));
  EXPECT_THAT(screen.Rows(), ElementsAre("$ muster status", "1", "2"));
  screen.Write(view.Draw("1\n2\n3\n4\n5\n6\n7\n", window));
  EXPECT_THAT(screen.Rows(), ElementsAre("1", "2", "3", "4", "... 3 more rows"));
  screen.Write(view.Draw("last\n", window));
  EXPECT_THAT(screen.Rows(), ElementsAre("last"));
}

TEST(LiveView, AnotherSizeOfTheWindowClearsTheScreen) {
  LiveView view;
  view.Draw("a line that is as long as this\n", {6, 40});
  Screen small({6, 12});
  small.Write("remains of\r\nthe frame\r\n");
  small.Write(view.Draw("a line that is as long as this\n", {6, 12}));
  EXPECT_THAT(small.Rows(), ElementsAre("a line that", "  is as", "  long as", "  this"));
}

// Nothing disappears before it is written again.
TEST(LiveView, AFrameDoesNotFlicker) {
  LiveView view;
  view.Draw("one\ntwo\n", {6, 20});
  EXPECT_EQ(view.Draw("one\nTWO\n", {6, 20}), "\r\x1b[2Aone\x1b[K\r\nTWO\x1b[K\r\n\x1b[J");
}

}  // namespace
}  // namespace muster::status

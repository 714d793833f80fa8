#include "comm/base/printable.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Case {
  std::string_view text;
  std::string_view printable;
};

TEST(Printable, HasNoControlCharacters) {
  for (const auto& [text, printable] : {
           Case{"", ""},
           Case{"gpu 01~", "gpu 01~"},
           Case{"\x1b[2J\r\n\x7f", "%1B[2J%0D%0A%7F"},
           Case{std::string_view("\0", 1), "%00"},
           Case{"\u00fcber \u4e2d \U0001f600", "\u00fcber \u4e2d \U0001f600"},
           Case{"\u009b2J\u00a0", "%C2%9B2J\u00a0"},
           Case{"\x9b"
                "2J \xe4\xb8",
                "%9B2J %E4%B8"},
       }) {
    EXPECT_EQ(Printable(text), printable);
  }
}

TEST(Printable, KeepsWhatTheCallerNames) { EXPECT_EQ(Printable("a\n\tb\r", "\n\t"), "a\n\tb%0D"); }

}  // namespace
}  // namespace muster

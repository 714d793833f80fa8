#include "bootstrap/config/text/placeholders.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::config {
namespace {

// Every name stands for itself in angle brackets.
std::string Filled(std::string_view text) {
  EXPECT_TRUE(CheckPlaceholders(text)) << text;
  return FillPlaceholders(text, [](std::string_view name) { return "<" + std::string(name) + ">"; });
}

TEST(Placeholders, AreFilled) {
  EXPECT_EQ(Filled("/tmp/${node}/out.${rank}"), "/tmp/<node>/out.<rank>");
  EXPECT_EQ(Filled("${rank}${local_rank}"), "<rank><local_rank>");
  EXPECT_EQ(Filled(""), "");
  for (const Placeholder& placeholder : Placeholders()) {
    EXPECT_EQ(Filled("${" + std::string(placeholder.name) + "}"), "<" + std::string(placeholder.name) + ">");
  }
}

TEST(Placeholders, AreNotSeenWhereTheyAreNot) {
  for (const char* text : {"$", "$$", "$HOME", "a$", "{rank}", "$ {rank}", "}", "$rank"})
    EXPECT_EQ(Filled(text), text);
}

TEST(Placeholders, TwoDollarsAreOne) {
  EXPECT_EQ(Filled("$${rank}"), "${rank}");
  EXPECT_EQ(Filled("a$${nothing}${rank}"), "a${nothing}<rank>");
  EXPECT_EQ(Filled("$${"), "${");
}

TEST(Placeholders, WhatIsNoneIsRefusedWithTheNearest) {
  const Status wrong = CheckPlaceholders("x${lokal_rank}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error(), (Error{Code::kConfiguration, "there is no \"${lokal_rank}\"",
                                  "did you mean ${local_rank}? write $${ for ${ itself"}));
  const Status far = CheckPlaceholders("${HOME_OF_SOMETHING}");
  ASSERT_FALSE(far);
  EXPECT_EQ(
      far.error().hint,
      "there are rank, world_size, local_rank, local_world_size, node_rank, num_nodes, node, master_addr, "
      "master_port, job_key; write $${ for ${ itself");
  const Status open = CheckPlaceholders("${rank");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, "\"${rank\" has no closing brace");
}

// Pieces as text: a placeholder in angle brackets.
std::string Cut(std::string_view text, PlaceholderStyle style) {
  const auto pieces = CutPlaceholders(text, style);
  if (!pieces) return pieces.error().message + "; " + pieces.error().hint;
  std::string shown;
  for (const TextPiece& piece : *pieces) shown += piece.literal + (piece.named ? "<" + piece.name + ">" : "");
  return shown;
}

TEST(CutPlaceholders, TakesBracesAsTheStyleSays) {
  const std::string_view text = "a{b}${c}{{d}}";
  EXPECT_EQ(Cut(text, PlaceholderStyle::kBraces), "a<b>$<c>{d}");
  EXPECT_EQ(Cut(text, PlaceholderStyle::kBoth), "a<b><c>{d}");
  EXPECT_EQ(Cut(text, PlaceholderStyle::kDollar), "a{b}<c>{{d}}");
  EXPECT_EQ(Cut("", PlaceholderStyle::kBraces), "");
}

TEST(CutPlaceholders, ADoubledDollarTakesItsBracesAlong) {
  EXPECT_EQ(Cut("$${HOME}/{b}", PlaceholderStyle::kBoth), "${HOME}/<b>");
  EXPECT_EQ(Cut("$${a}}", PlaceholderStyle::kDollar), "${a}}");
}

TEST(CutPlaceholders, ALoneBraceIsRefused) {
  EXPECT_EQ(Cut("x{y", PlaceholderStyle::kBraces), "\"{y\" has no closing brace; write {{ for { itself");
  EXPECT_EQ(Cut("x}y", PlaceholderStyle::kBoth),
            "a closing brace without an opening one; write }} for } itself");
}

}  // namespace
}  // namespace muster::config

#include "bootstrap/config/placeholders.h"

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

}  // namespace
}  // namespace muster::config

#include "bootstrap/config/text/quote.h"

#include <gtest/gtest.h>

#include <string>

#include "bootstrap/config/yaml_tree.h"

namespace muster::config {
namespace {

TEST(JsonQuoted, EscapesWhatJsonForbids) {
  EXPECT_EQ(JsonQuoted(""), R"("")");
  EXPECT_EQ(JsonQuoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(JsonQuoted("line\nnext\ttab\x01\x7f"), R"("line\nnext\ttab\u0001\u007f")");
  EXPECT_EQ(JsonQuoted("\xc3\xa9"), "\"\xc3\xa9\"");
}

TEST(YamlQuoted, LeavesPlainWordsAlone) {
  for (const char* plain :
       {"auto", "30m", "61000-64999", "gpu01:61000", "/a/b.c", "-m", "--tasks=x", "a=b", "4", "_x"}) {
    EXPECT_EQ(YamlQuoted(plain), plain);
  }
}

// The property that matters: inside a list YAML reads back the same text, whatever it is.
TEST(YamlQuoted, ReadsBackAsTheSameText) {
  for (const std::string text : {"",
                                 " ",
                                 "null",
                                 "~",
                                 "true",
                                 "FALSE",
                                 "-",
                                 "--",
                                 "---",
                                 "- a",
                                 "a: b",
                                 "a:",
                                 "a #b",
                                 "#",
                                 "[::1]:5",
                                 "{a}",
                                 "a,b",
                                 "'",
                                 "\"",
                                 "\\",
                                 "&a",
                                 "*a",
                                 "!t",
                                 "|",
                                 ">",
                                 "%d",
                                 "@x",
                                 "`",
                                 "?",
                                 "? a",
                                 "\n",
                                 "\t",
                                 "\x01",
                                 "\x7f",
                                 "\xc3\xa9",
                                 "a\nb",
                                 " lead",
                                 "trail ",
                                 "1:30",
                                 "=",
                                 "<<",
                                 "0x1f",
                                 "...",
                                 "eth*",
                                 "--a:",
                                 "C:\\x",
                                 "\xe2\x80\xa8",
                                 "\xef\xbb\xbf"}) {
    const std::string list = "[x, " + YamlQuoted(text) + "]";
    const Result<YamlNode> tree = ParseYaml(list, "t");
    ASSERT_TRUE(tree) << list << ": " << tree.error().message;
    ASSERT_EQ(tree->items.size(), 2u) << list;
    EXPECT_NE(tree->items[1].kind, YamlNode::Kind::kNull) << list;
    EXPECT_EQ(tree->items[1].text, text) << list;
  }
}

TEST(ShellQuoted, IsOneWordWhateverItHolds) {
  EXPECT_EQ(ShellQuoted("a-b_c.d:/e@%+=,9"), "a-b_c.d:/e@%+=,9");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("two words"), "'two words'");
  EXPECT_EQ(ShellQuoted("print('x')"), "'print('\\''x'\\'')'");
  EXPECT_EQ(ShellQuoted("$HOME;`id`&*"), "'$HOME;`id`&*'");
  // For bash and zsh only, not for POSIX shells.
  EXPECT_EQ(ShellQuoted("m={a,b}"), "'m={a,b}'");
  EXPECT_EQ(ShellQuoted("{1..3}"), "'{1..3}'");
  EXPECT_EQ(ShellQuoted("=ls"), "'=ls'");
  EXPECT_EQ(ShellQuoted("{item}/{rank}"), "{item}/{rank}");
  EXPECT_EQ(ShellQuoted("\xc3\xa4.csv"), "\xc3\xa4.csv");
}

}  // namespace
}  // namespace muster::config

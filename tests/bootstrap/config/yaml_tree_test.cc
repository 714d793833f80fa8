#include "bootstrap/config/yaml_tree.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::config {
namespace {

using Kind = YamlNode::Kind;

std::string Repeated(std::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() + piece.size() <= bytes) text += piece;
  return text;
}

std::string ErrorOf(std::string_view text) {
  const Result<YamlNode> tree = ParseYaml(text, "f.yaml");
  if (tree) return "no error";
  EXPECT_EQ(tree.error().code, Code::kConfiguration);
  return tree.error().message;
}

TEST(ParseYaml, KeepsOrderKindsAndPlaces) {
  const Result<YamlNode> tree = ParseYaml("b: 1\na:\n  - 'x'\n  - ~\nempty:\nc: {d: \"y\"}\n", "f.yaml");
  ASSERT_TRUE(tree) << tree.error().message;
  ASSERT_EQ(tree->kind, Kind::kMap);
  ASSERT_EQ(tree->keys.size(), 4u);
  EXPECT_EQ(tree->keys[0].text, "b");
  EXPECT_EQ(tree->items[0].kind, Kind::kPlain);
  EXPECT_EQ(tree->items[1].kind, Kind::kList);
  EXPECT_EQ(tree->items[1].items[0].kind, Kind::kQuoted);
  EXPECT_EQ(tree->items[1].items[0].line, 3);
  EXPECT_EQ(tree->items[1].items[0].column, 5);
  EXPECT_EQ(tree->items[1].items[1].kind, Kind::kNull);
  EXPECT_EQ(tree->items[3].items[0].text, "y");
}

TEST(ParseYaml, PutsAMissingValueWhereItsKeyIs) {
  const Result<YamlNode> tree = ParseYaml("a: 1\nempty:\n\n\nc: 2\n", "f.yaml");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->items[1].kind, Kind::kNull);
  EXPECT_EQ(tree->items[1].line, 2);
  EXPECT_EQ(tree->items[1].column, 1);
}

TEST(ParseYaml, TakesAnEmptyDocument) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "\xef\xbb\xbf"}) {
    const Result<YamlNode> tree = ParseYaml(text, "f.yaml");
    ASSERT_TRUE(tree) << text << tree.error().message;
    EXPECT_EQ(tree->kind, Kind::kNull) << text;
  }
}

TEST(ParseYaml, TakesMarkersAByteOrderMarkAndWindowsLines) {
  for (const char* text : {"---\na: \"1\"\n...\n",
                           "\xef\xbb\xbf"
                           "a: \"1\"\n",
                           "a: \"1\"\r\n", "%YAML 1.2\n---\na: \"1\"\n"}) {
    const Result<YamlNode> tree = ParseYaml(text, "f.yaml");
    ASSERT_TRUE(tree) << text << tree.error().message;
    ASSERT_EQ(tree->items.size(), 1u) << text;
    EXPECT_EQ(tree->items[0].text, "1") << text;
  }
}

TEST(ParseYaml, FollowsAliases) {
  const Result<YamlNode> tree = ParseYaml("a: &x [1, &y 'q']\nb: *x\nc: *y\n", "f.yaml");
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->items[1].items[1].text, "q");
  EXPECT_EQ(tree->items[2].text, "q");
}

TEST(ParseYaml, SaysWhereTheSyntaxBreaks) {
  EXPECT_EQ(ErrorOf("a: b: c\n"), "f.yaml:1:5: broken YAML: illegal map value");
  for (const std::string text : {"a:\n  b: 1\n\tc: 2\n", "a:\n  b:\n\t- c\n", "a:\n  b: 1\n  \tc: 2\n"}) {
    const size_t column = text.find("  \t") == std::string::npos ? 1 : 3;
    EXPECT_EQ(ErrorOf(text), "f.yaml:3:" + std::to_string(column) + ": a tab cannot indent YAML; use spaces");
  }
  EXPECT_EQ(ErrorOf("a:\n\tb: 1\n"), "f.yaml:2:1: a tab cannot indent YAML; use spaces");
  EXPECT_EQ(ErrorOf("a:\t[1,\n\t2]\n"), "no error");
  EXPECT_EQ(ErrorOf("a: [1, 2\n"), "f.yaml:2:1: broken YAML: end of sequence flow not found");
  EXPECT_EQ(ErrorOf("a: *nobody\n"), "f.yaml:1:4: broken YAML: the referenced anchor is not defined");
  EXPECT_EQ(ErrorOf("a: \"\\q\"\n"), "f.yaml:1:7: broken YAML: unknown escape character: q");
}

TEST(ParseYaml, RefusesAQuoteThatIsNeverClosed) {
  EXPECT_EQ(ErrorOf("a: 1\nb: \"x\n"), "f.yaml:2:4: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("a: 'it''s\n"), "f.yaml:1:4: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("a: \"x\\\"\n"), "f.yaml:1:4: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("a: &b \"x\n"), "f.yaml:1:7: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("\xef\xbb\xbf"
                    "a: \"x\n"),
            "f.yaml:1:4: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("a: &b # it's\n  # \"\n  \"x\n"), "f.yaml:3:3: broken YAML: this quote is never closed");
  EXPECT_EQ(ErrorOf("a: &b # it's\n  \"x\"\n"), "no error");
  EXPECT_EQ(ErrorOf("a: 'it''s'\nb: \"\\\"\"\nc: ''\nd: |\n  \"x\n"), "no error");
}

TEST(ParseYaml, RefusesASecondDocument) {
  EXPECT_EQ(ErrorOf("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: a second document begins here; a configuration is one document");
  EXPECT_EQ(ErrorOf("{a: b}, {c: d}\n"),
            "f.yaml:1:7: a second document begins here; a configuration is one document");
  EXPECT_EQ(ErrorOf(", ,"), "f.yaml:1:1: a second document begins here; a configuration is one document");
}

TEST(ParseYaml, RefusesAKeyTwice) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\n\"a\": 3\n"), "f.yaml:3:1: \"a\" a second time; the first is in line 1");
  EXPECT_EQ(ErrorOf("m: {x: 1, x: 1}\n"), "f.yaml:1:11: \"x\" a second time; the first is in line 1");
}

// Taken as a name, it would be a variable of run.env.
TEST(ParseYaml, RefusesAMergeKey) {
  EXPECT_EQ(ErrorOf("x: &x {A: 1}\nrun:\n  env:\n    <<: *x\n"),
            "f.yaml:4:5: merge keys (<<) are not supported; write the keys here, or use include");
  EXPECT_EQ(ErrorOf("\"<<\": 1\n"), "no error");
}

TEST(ParseYaml, RefusesWhatAConfigurationHasNoUseFor) {
  EXPECT_EQ(ErrorOf("? [a]\n: b\n"), "f.yaml:1:3: a key must be text, not a list");
  EXPECT_EQ(ErrorOf("~: b\n"), "f.yaml:1:1: a key must be text, not null");
  EXPECT_EQ(ErrorOf("a: !!int 5\n"), "f.yaml:1:4: tags are not used in a configuration");
  EXPECT_EQ(ErrorOf("a: !own {b: c}\n"), "f.yaml:1:4: tags are not used in a configuration");
  EXPECT_EQ(ErrorOf("x: &a {b: *a}\n"), "f.yaml:1:11: this alias refers to what it is part of");
}

TEST(ParseYaml, RefusesWhatIsNotText) {
  EXPECT_EQ(ErrorOf("a: 1\nb: \xff\n"), "f.yaml:2:4: not UTF-8");
  EXPECT_EQ(ErrorOf(std::string_view("a: b\0c\n", 7)), "f.yaml:1:5: a control character (0x00)");
  EXPECT_EQ(ErrorOf("a:\n  b: \x1b[0m\n"), "f.yaml:2:6: a control character (0x1b)");
  EXPECT_EQ(ErrorOf("\xff\xfe"
                    "a"),
            "f.yaml:1:1: not UTF-8");
}

TEST(ParseYaml, BoundsNesting) {
  EXPECT_EQ(ErrorOf(std::string(17, '[') + std::string(17, ']')),
            "f.yaml:1:17: nested deeper than 16 levels");
  EXPECT_EQ(ErrorOf(std::string(16, '[') + std::string(16, ']')), "no error");
}

// A stack overflow would end the test program. The last two of yaml-cpp's own node builder never end.
TEST(ParseYaml, SurvivesBombs) {
  for (const char* piece : {"[", "{", "- ", "? ", "{a: ", "a: {", "&a ", "? [", ": ", "\"",
                            "[a]: ", "&a [*a,", ", ", "{a: b},"}) {
    EXPECT_NE(ErrorOf(Repeated(piece, 100'000)), "no error") << piece;
  }
  EXPECT_EQ(ErrorOf(Repeated("[", kLargestYaml)), "f.yaml:1:9: nested deeper than 16 levels");
  EXPECT_EQ(ErrorOf(Repeated("- a\n", kLargestYaml)), "f.yaml:100000:3: more than 100000 values");
}

TEST(ParseYaml, BoundsWhatAliasesMultiply) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 8; ++j) laughs += before + ", ";
    laughs += "]\n";
  }
  EXPECT_EQ(ErrorOf(laughs), "f.yaml:1:22: more than 100000 values");
  const std::string long_text =
      "a: &a " + std::string(500'000, 'x') + "\nb: [" + Repeated("*a, ", 400) + "]\n";
  EXPECT_EQ(ErrorOf(long_text), "f.yaml:1:4: too large once its aliases are followed");
}

TEST(ParseYaml, BoundsTheText) {
  EXPECT_EQ(ErrorOf(std::string(kLargestYaml + 1, '#')),
            "f.yaml is too large: 1048577 bytes; at most 1048576");
  EXPECT_EQ(ErrorOf(std::string(kLargestYaml, '#')), "no error");
}

}  // namespace
}  // namespace muster::config

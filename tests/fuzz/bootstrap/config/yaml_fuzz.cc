// YAML text to a tree: nothing but an Error leaves the parser, and what muster quotes is read back.
#include <algorithm>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/text/utf8.h"
#include "bootstrap/config/yaml_tree.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using Kind = config::YamlNode::Kind;

void CheckNode(const config::YamlNode& node) {
  Require(node.line >= 1 && node.column >= 1, "a node stands at {}:{}", node.line, node.column);
  const bool map = node.kind == Kind::kMap;
  Require(node.keys.size() == (map ? node.items.size() : 0), "{} keys, {} items", node.keys.size(),
          node.items.size());
  Require(node.items.empty() || map || node.kind == Kind::kList, "a scalar has no items");
  for (const config::YamlNode& key : node.keys) {
    Require(key.kind == Kind::kPlain || key.kind == Kind::kQuoted, "a key is text");
    const auto same = [&](const config::YamlNode& other) { return other.text == key.text; };
    Require(std::ranges::count_if(node.keys, same) == 1, "\"{}\" is there once", key.text);
  }
  for (const config::YamlNode& item : node.items) CheckNode(item);
}

void CheckQuoting(std::string_view text) {
  if (config::FirstInvalidUtf8(text) < text.size()) return;
  for (const std::string& quoted : {config::YamlQuoted(text), config::JsonQuoted(text)}) {
    // YAML's own limit for a key without "? ".
    if (quoted.size() > 1000) continue;
    const auto read = config::ParseYaml(fmt::format("[{0}, {{{0}: {0}}}]", quoted), "quoted");
    Require(read && read->items.size() == 2, "{} is YAML", quoted);
    const config::YamlNode& map = read->items[1];
    const bool same = read->items[0].text == text && map.keys.size() == 1 && map.keys[0].text == text &&
                      map.items[0].text == text;
    Require(same, "{} is read back, not as {}", quoted, read->items[0].text);
  }
}

void FuzzOne(ByteView input) {
  const std::string_view text = AsText(input);
  const auto tree = config::ParseYaml(text, "file");
  if (tree) {
    CheckNode(*tree);
  } else {
    Require(tree.error().code == Code::kConfiguration && tree.error().message.starts_with("file:"),
            "\"{}\" says where", tree.error().message);
  }
  // A longer scalar is a quadratic affair for yaml-cpp and shows nothing more.
  if (text.size() < 900) CheckQuoting(text);
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"a: 1\nb: [x, 'y', \"z\\n\", ~]\nc: {d: null}\n", "- 1\n-\n- |\n  text\n- >-\n  folded\n",
        "a: &x {b: 1}\nc: *x\n", "a: &x [*x]", "? a\n: b\n", "a: 1\na: 2\n", "--- a\n--- b\n",
        "%YAML 1.2\n---\na\n...\n", "!!str a", "a: \"unclosed\n", "[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]",
        "\xef\xbb\xbf# a mark\na: 1", "# only\n", "a:\tb", "\"\\x41\\u00e9\\U0001f600\"", "{a: b, c}",
        "- - - - a", "'it''s'", "a: b: c"}) {
    seeds.push_back(ToBytes(text));
  }
  return seeds;
}

std::vector<std::string> Words() {
  return {": ",           "- ",    "? ",    "[",          "]",  "{", "}",    "&a ",          "*a",
          "!!str ",       "!<x>",  "|\n  ", ">-\n  ",     "\"", "'", "\\x",  "\\u",          "\n",
          "\n  ",         "---\n", "...\n", "%TAG ! x\n", "# ", "~", "null", "\xef\xbb\xbf", "\xc2\x85",
          "\xe2\x80\xa8", ",",     "\r\n"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz

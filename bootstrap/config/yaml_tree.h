// YAML text as a tree of plain values. The only file that uses yaml-cpp; none of its exceptions leave it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::config {

struct YamlNode {
  enum class Kind {
    kNull,    // nothing, ~ or null
    kPlain,   // a scalar without quotes, which may be a number or a boolean
    kQuoted,  // surely text
    kList,
    kMap,
  };
  Kind kind = Kind::kNull;
  std::string text;  // kPlain, kQuoted
  std::vector<YamlNode>
      keys;  // kMap: scalars, in the order of the file, each once; keys[i] belongs to items[i]
  std::vector<YamlNode> items;  // kList, kMap
  int line = 1;
  int column = 1;
};

// "a list", "text", ...: for error messages.
std::string_view KindName(YamlNode::Kind kind);

// One document; an empty one is kNull. Aliases are followed. Error: kConfiguration, the message begins with
// "NAME:line:column: ". Refused: text above 1 MiB, invalid UTF-8, control characters, a second document, a
// key twice in one map, tags. Also refused: nesting deeper than 16, more than 100 000 nodes.
Result<YamlNode> ParseYaml(std::string_view text, std::string_view name);

inline constexpr size_t kLargestYaml = size_t{1} << 20;

}  // namespace muster::config

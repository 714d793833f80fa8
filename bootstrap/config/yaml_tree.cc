#include "bootstrap/config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <array>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <utility>

#include "bootstrap/config/text/utf8.h"
#include "comm/base/parse.h"

namespace muster::config {
namespace {

constexpr size_t kDeepest = 16;
constexpr size_t kMostNodes = 100'000;
constexpr size_t kMostText = size_t{4} << 20;  // once aliases are followed

// Leaves yaml-cpp's parser early; caught in ParseYaml.
struct Refused {
  int line;
  int column;
  std::string why;
};

[[noreturn]] void Refuse(const YAML::Mark& mark, std::string why) {
  throw Refused{mark.line + 1, mark.column + 1, std::move(why)};
}

bool IsScalar(YamlNode::Kind kind) {
  return kind == YamlNode::Kind::kPlain || kind == YamlNode::Kind::kQuoted;
}

// yaml-cpp's own nodes would follow aliases without limit and keep duplicate keys; its events do not.
class TreeBuilder : public YAML::EventHandler {
 public:
  std::optional<YamlNode> root;
  std::optional<size_t> last_quoted;  // byte offset of the last quoted scalar
  bool closed = false;                // the document is complete: any further event belongs to another one

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (closed) Refuse(mark, "a second document begins here; a configuration is one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = Begin(mark, YamlNode::Kind::kNull);
    // yaml-cpp gives a missing value the position of the next token.
    if (const YamlNode* key = PendingKey()) {
      node.line = key->line;
      node.column = key->column;
    }
    Finish(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    YamlNode node = Begin(mark, tag == "!" ? YamlNode::Kind::kQuoted : YamlNode::Kind::kPlain);
    if (tag == "!") last_quoted = static_cast<size_t>(mark.pos);
    node.text = value;
    CountText(node);
    Finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "this alias refers to what it is part of");
    CountCopy(found->second);
    Finish(YamlNode(found->second), YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor;
    std::map<std::string, int> key_lines;
  };

  static void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") Refuse(mark, "tags are not used in a configuration");
  }

  YamlNode Begin(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    CountNode(node);
    return node;
  }

  void CountNode(const YamlNode& node) {
    if (++nodes_ > kMostNodes) {
      throw Refused{node.line, node.column, fmt::format("more than {} values", kMostNodes)};
    }
  }

  void CountText(const YamlNode& node) {
    text_bytes_ += node.text.size();
    if (text_bytes_ > kMostText)
      throw Refused{node.line, node.column, "too large once its aliases are followed"};
  }

  // Aliases of aliases can nest deeper than kDeepest, but no deeper than the count of nodes lets them: some
  // hundreds.
  void CountCopy(const YamlNode& tree) {
    CountNode(tree);
    CountText(tree);
    for (const YamlNode& key : tree.keys) CountCopy(key);
    for (const YamlNode& item : tree.items) CountCopy(item);
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    CheckTag(mark, tag);
    if (open_.size() == kDeepest) Refuse(mark, fmt::format("nested deeper than {} levels", kDeepest));
    open_.push_back(Frame{Begin(mark, kind), anchor, {}});
  }

  void Close() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    Finish(std::move(frame.node), frame.anchor);
  }

  const YamlNode* PendingKey() const {
    if (open_.empty()) return nullptr;
    const YamlNode& node = open_.back().node;
    return node.keys.size() > node.items.size() ? &node.keys.back() : nullptr;
  }

  void Finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      CountCopy(node);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& parent = open_.back();
    const bool is_key = parent.node.kind == YamlNode::Kind::kMap && PendingKey() == nullptr;
    if (is_key) {
      CheckKey(node, parent);
      parent.node.keys.push_back(std::move(node));
    } else {
      parent.node.items.push_back(std::move(node));
    }
  }

  static void CheckKey(const YamlNode& key, Frame& parent) {
    if (!IsScalar(key.kind)) {
      throw Refused{key.line, key.column, fmt::format("a key must be text, not {}", KindName(key.kind))};
    }
    if (key.kind == YamlNode::Kind::kPlain && key.text == "<<") {
      throw Refused{key.line, key.column,
                    "merge keys (<<) are not supported; write the keys here, or use include"};
    }
    const auto [first, added] = parent.key_lines.try_emplace(key.text, key.line);
    if (!added) {
      throw Refused{key.line, key.column,
                    fmt::format("\"{}\" a second time; the first is in line {}", key.text, first->second)};
    }
  }

  std::vector<Frame> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  size_t nodes_ = 0;
  size_t text_bytes_ = 0;
};

// A stream over the caller's text; std::istringstream would copy it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // only ever read
    setg(begin, begin, begin + text.size());
  }
};

// 1-based line and column (in bytes, as yaml-cpp counts) of an offset.
Refused RefusedAt(std::string_view text, size_t offset, std::string why) {
  int line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++line;
    line_start = i + 1;
  }
  return {line, static_cast<int>(offset - line_start) + 1, std::move(why)};
}

std::optional<Refused> CheckCharacters(std::string_view text) {
  if (const size_t bad = FirstInvalidUtf8(text); bad < text.size()) return RefusedAt(text, bad, "not UTF-8");
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
    if (control) return RefusedAt(text, i, fmt::format("a control character (0x{:02x})", byte));
  }
  return std::nullopt;
}

// The value of "&name # comment" is in one of the next lines.
size_t AfterAnchor(std::string_view text, size_t at) {
  constexpr std::string_view kBlanks = " \t\r\n";
  if (text[at] != '&') return at;
  at = text.find_first_not_of(kBlanks, text.find_first_of(kBlanks, at));
  while (at < text.size() && text[at] == '#') at = text.find_first_not_of(kBlanks, text.find('\n', at));
  return at;
}

// yaml-cpp 0.7 takes a quote that is never closed when a line end precedes the end of the text.
std::optional<Refused> CheckClosed(std::string_view text, size_t start) {
  size_t at = AfterAnchor(text, start);
  if (at == std::string_view::npos || (text[at] != '"' && text[at] != '\'')) return std::nullopt;
  const char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    const bool doubled = quote == '\'' && text[i] == quote && i + 1 < text.size() && text[i + 1] == quote;
    const bool escaped = quote == '"' && text[i] == '\\';
    if (doubled || escaped) {
      ++i;
    } else if (text[i] == quote) {
      return std::nullopt;
    }
  }
  return RefusedAt(text, at, "broken YAML: this quote is never closed");
}

// Whether a tab is among what indents that line (from 1); yaml-cpp complains of what follows from it.
std::optional<Refused> CheckTab(std::string_view text, int line) {
  size_t start = 0;
  for (int i = 1; i < line && start != std::string_view::npos; ++i) {
    start = text.find('\n', start);
    if (start != std::string_view::npos) ++start;
  }
  if (line < 1 || start == std::string_view::npos) return std::nullopt;
  const size_t begin = text.find_first_not_of(" \t", start);
  const size_t tab = text.find('\t', start);
  if (tab == std::string_view::npos || tab > begin) return std::nullopt;
  return RefusedAt(text, tab, "a tab cannot indent YAML; use spaces");
}

YamlNode Parse(std::string_view text) {
  if (const auto refused = CheckCharacters(text)) throw *refused;
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  TreeBuilder builder;
  parser.HandleNextDocument(builder);
  builder.closed = true;
  if (builder.last_quoted) {
    if (const auto refused = CheckClosed(text, *builder.last_quoted)) throw *refused;
  }
  parser.HandleNextDocument(builder);
  return builder.root ? *std::move(builder.root) : YamlNode{};
}

}  // namespace

std::string_view KindName(YamlNode::Kind kind) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"null", "a scalar", "quoted text", "a list", "a map"});
  static_assert(kNames.size() == static_cast<size_t>(YamlNode::Kind::kMap) + 1);
  return kNames.at(static_cast<size_t>(kind));
}

Result<YamlNode> ParseYaml(std::string_view text, std::string_view name) {
  if (text.size() > kLargestYaml) {
    return Fail(Code::kConfiguration, "{} is too large: {} bytes; at most {}", name, text.size(),
                kLargestYaml);
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  try {
    return Parse(text);
  } catch (const Refused& refused) {
    return Fail(Code::kConfiguration, "{}:{}:{}: {}", name, refused.line, refused.column, refused.why);
  } catch (const YAML::Exception& broken) {
    for (const int line : {broken.mark.line + 1, broken.mark.line}) {
      if (const auto tab = CheckTab(text, line)) {
        return Fail(Code::kConfiguration, "{}:{}:{}: {}", name, tab->line, tab->column, tab->why);
      }
    }
    return Fail(Code::kConfiguration, "{}:{}:{}: broken YAML: {}", name, broken.mark.line + 1,
                broken.mark.column + 1, broken.msg);
  }
}

}  // namespace muster::config

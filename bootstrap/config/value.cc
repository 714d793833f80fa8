#include "bootstrap/config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/text/utf8.h"
#include "comm/base/parse.h"

namespace muster::config {
namespace {

using Kind = YamlNode::Kind;
using TextMap = std::map<std::string, std::string>;
using TextList = std::vector<std::string>;

bool IsScalar(const YamlNode& node) { return node.kind == Kind::kPlain || node.kind == Kind::kQuoted; }

tl::unexpected<Error> WrongType(std::string_view expected, const YamlNode& value) {
  return Fail(Code::kConfiguration, "{} is expected, not {}", expected, KindName(value.kind));
}

Result<std::string> Scalar(std::string_view expected, const YamlNode& value) {
  if (!IsScalar(value)) return WrongType(expected, value);
  if (value.text.find('\0') != std::string::npos)
    return Fail(Code::kConfiguration, "text cannot hold a zero byte");
  return value.text;
}

// --- What each type is, by the key's field. ---

struct TypeFacts {
  std::string_view name = {};  // how it is called; of an enumeration: its choices
  bool nullable = false;
  bool collection = false;
};
TypeFacts FactsOf(const FieldOf<std::string>&) { return {"a name"}; }
TypeFacts FactsOf(const FieldOf<std::optional<std::string>>&) { return {"text or null", true}; }
TypeFacts FactsOf(const FieldOf<std::optional<Endpoint>>&) { return {"host:port or null", true}; }
TypeFacts FactsOf(const FieldOf<PortRange>&) { return {"first-last or one port"}; }
TypeFacts FactsOf(const FieldOf<RunThreads>&) { return {"auto, none or a number"}; }
TypeFacts FactsOf(const FieldOf<Duration>&) { return {"a duration"}; }
TypeFacts FactsOf(const FieldOf<std::optional<Duration>>&) { return {"a duration or null", true}; }
TypeFacts FactsOf(const FieldOf<int>&) { return {"a number"}; }
TypeFacts FactsOf(const FieldOf<MapItems>&) {
  return {"a file, a list, a map of lists, or null", true, true};
}
TypeFacts FactsOf(const FieldOf<MapSlots>&) {
  return {"a number, or a map of count, gpus, cores", false, true};
}
TypeFacts FactsOf(const FieldOf<Includes>&) { return {"a file, a list of files, or null"}; }
TypeFacts FactsOf(const FieldOf<bool>&) { return {"true or false"}; }
TypeFacts FactsOf(const FieldOf<TextList>&) { return {"a list of text", false, true}; }
TypeFacts FactsOf(const FieldOf<TextMap>&) { return {"a map of text", false, true}; }
template <typename Enum>
requires std::is_enum_v<Enum> TypeFacts FactsOf(const FieldOf<Enum>&) { return {}; }

TypeFacts FactsOf(const Key& key) {
  return std::visit([](const auto& field) { return FactsOf(field); }, key.field);
}

// --- Reading. ---

// A placeholder among the choices: the launchers' names are those of bootstrap/resolve.
Status Read(const Key&, const YamlNode& value, std::string& out) {
  MUSTER_TRY(const std::string text, Scalar("a name", value));
  const bool is_word = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!is_word) {
    return WithHint(Fail(Code::kConfiguration, "{} is not a name", JsonQuoted(text)),
                    "write lower case letters, digits and hyphens");
  }
  out = text;
  return {};
}

Status Read(const Key&, const YamlNode& value, std::optional<std::string>& out) {
  if (value.kind == Kind::kNull) {
    out.reset();
    return {};
  }
  MUSTER_TRY(std::string text, Scalar("text or null", value));
  if (text.empty()) return WithHint(Fail(Code::kConfiguration, "it is empty"), "write null for none");
  out = std::move(text);
  return {};
}

Status Read(const Key&, const YamlNode& value, Endpoint& out) {
  MUSTER_TRY(const std::string text, Scalar("host:port or null", value));
  MUSTER_TRY(out, ParseEndpoint(text));
  return {};
}

Status Read(const Key&, const YamlNode& value, PortRange& out) {
  MUSTER_TRY(const std::string text, Scalar("first-last", value));
  const size_t dash = text.find('-');
  const auto first = ParseInteger<uint16_t>(std::string_view(text).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : ParseInteger<uint16_t>(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first == 0) {
    return WithHint(Fail(Code::kConfiguration, "{} is not a range of ports", JsonQuoted(text)),
                    "write first-last with ports from 1 to 65535, for example 61000-64999");
  }
  if (*first > *last) return Fail(Code::kConfiguration, "the range {} ends before it begins", text);
  out = {*first, *last};
  return {};
}

Status Read(const Key& key, const YamlNode& value, RunThreads& out) {
  constexpr int kMost = 65536;
  MUSTER_TRY(const std::string text, Scalar(TypeName(key), value));
  if (text == "auto" || text == "none") {
    out = {text == "auto" ? RunThreads::Choice::kAuto : RunThreads::Choice::kNone, 0};
    return {};
  }
  const auto count = ParseInteger<int>(text);
  if (!count || *count < 1 || *count > kMost) {
    return Fail(Code::kConfiguration, "auto, none or a number from 1 to {} is expected, not {}", kMost,
                JsonQuoted(text));
  }
  out = {RunThreads::Choice::kCount, *count};
  return {};
}

Status Read(const Key& key, const YamlNode& value, Duration& out) {
  MUSTER_TRY(const std::string text, Scalar("a duration", value));
  MUSTER_TRY(const Duration duration, ParseDuration(text));
  if (duration < key.minimum) {
    return Fail(Code::kConfiguration, "{} is too short: at least {}", text, FormatDuration(key.minimum));
  }
  out = duration;
  return {};
}

template <typename T>
Status Read(const Key& key, const YamlNode& value, std::optional<T>& out) {
  std::optional<T> read;
  if (value.kind != Kind::kNull) MUSTER_CHECK(Read(key, value, read.emplace()));
  out = std::move(read);
  return {};
}

Result<int> Number(const YamlNode& value, std::string_view subject, int least, int most) {
  MUSTER_TRY(const std::string text, Scalar(fmt::format("{}a number", subject), value));
  const auto number = ParseInteger<int>(text);
  if (!number || *number < least || *number > most) {
    return Fail(Code::kConfiguration, "{}a number from {} to {} is expected, not {}", subject, least, most,
                JsonQuoted(text));
  }
  return *number;
}

Status Read(const Key&, const YamlNode& value, int& out) {
  MUSTER_TRY(out, Number(value, "", 0, 1'000'000));
  return {};
}

Status Read(const Key&, const YamlNode& value, MapSlots& out) {
  constexpr int kMost = 4096;
  MapSlots slots;
  if (value.kind != Kind::kMap) {
    MUSTER_TRY(slots.count, Number(value, "", 1, kMost));
    out = slots;
    return {};
  }
  for (size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& name = value.keys[i].text;
    MUSTER_TRY(const int number, Number(value.items[i], name + ": ", name == "count" ? 1 : 0, kMost));
    if (name == "count") {
      slots.count = number;
    } else if (name == "gpus") {
      slots.gpus = number;
    } else if (name == "cores") {
      slots.cores = number;
    } else {
      return WithHint(Fail(Code::kConfiguration, "there is no {} of slots", JsonQuoted(name)),
                      "write for example {count: 2, gpus: 1, cores: 8}");
    }
  }
  out = slots;
  return {};
}

Status Read(const Key&, const YamlNode& value, bool& out) {
  constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
  constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};
  if (value.kind != Kind::kPlain) return WrongType("true or false", value);
  const bool is_true = std::ranges::find(kTrue, value.text) != kTrue.end();
  const bool is_false = std::ranges::find(kFalse, value.text) != kFalse.end();
  if (!is_true && !is_false) {
    return Fail(Code::kConfiguration, "true or false is expected, not {}", JsonQuoted(value.text));
  }
  out = is_true;
  return {};
}

Status CheckList(const Key& key, const TextList& list) {
  if (key.path == "run.command" || key.path == "map.command") {
    if (!list.empty() && list.front().empty())
      return Fail(Code::kConfiguration, "the program's name is empty");
    return {};
  }
  for (const std::string& path : list) {
    if (path.empty()) return Fail(Code::kConfiguration, "the name of a file is empty");
    if (key.path == "map.expect") continue;  // its placeholders are the items' (bootstrap/map)
    MUSTER_CHECK(CheckPlaceholders(path));
    // Chosen anew for each run.
    if (path.find("${master_") != std::string::npos) {
      return Fail(Code::kConfiguration,
                  "{}: the name of a file cannot hold ${{master_addr}} or ${{master_port}}",
                  JsonQuoted(path));
    }
  }
  return {};
}

Status Read(const Key& key, const YamlNode& value, TextList& out) {
  if (value.kind != Kind::kList) {
    const bool command = key.path.ends_with(".command");
    return WithHint(WrongType("a list of text", value), command ? "write for example [python, -m, lmms_eval]"
                                                                : "write for example [results/scores.json]");
  }
  TextList list;
  for (const YamlNode& item : value.items) {
    auto text = Scalar(fmt::format("text as item {}", list.size() + 1), item);
    if (!text) return Fail(std::move(text).error());
    list.push_back(*std::move(text));
  }
  MUSTER_CHECK(CheckList(key, list));
  out = std::move(list);
  return {};
}

Status Read(const Key& key, const YamlNode& value, Includes& out) {
  Includes includes;
  const bool list = value.kind == Kind::kList;
  for (size_t i = 0; i < (list ? value.items.size() : 1) && value.kind != Kind::kNull; ++i) {
    MUSTER_TRY(std::string file, Scalar(TypeName(key), list ? value.items[i] : value));
    if (file.empty()) return Fail(Code::kConfiguration, "the name of a file is empty");
    includes.files.push_back(std::move(file));
  }
  out = std::move(includes);
  return {};
}

Status Read(const Key&, const YamlNode& value, TextMap& out) {
  if (value.kind != Kind::kMap) {
    return WithHint(WrongType("a map of text", value), "write for example {OMP_NUM_THREADS: 4}");
  }
  TextMap map;
  for (size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& name = value.keys[i].text;
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return Fail(Code::kConfiguration, "{} cannot be the name of a variable", JsonQuoted(name));
    }
    auto text = Scalar("text for " + name, value.items[i]);
    if (!text) return Fail(std::move(text).error());
    if (Status known = CheckPlaceholders(*text); !known) {
      Error error = std::move(known).error();
      error.message = fmt::format("{}: {}", name, error.message);
      return Fail(std::move(error));
    }
    map[name] = *std::move(text);
  }
  out = std::move(map);
  return {};
}

// --- map.items ---

Result<MapItems::Fields> FieldsOf(const YamlNode& item, std::string_view subject) {
  if (item.kind != Kind::kMap) {
    MUSTER_TRY(std::string text, Scalar(fmt::format("{}text or a map of text", subject), item));
    return MapItems::Fields{{"item", std::move(text)}};
  }
  MapItems::Fields fields;
  for (size_t i = 0; i < item.keys.size(); ++i) {
    const std::string& name = item.keys[i].text;
    MUSTER_TRY(std::string text, Scalar(fmt::format("{}{}: text", subject, name), item.items[i]));
    fields.emplace_back(name, std::move(text));
  }
  if (fields.empty()) return Fail(Code::kConfiguration, "{}the map is empty", subject);
  return fields;
}

// One dimension of a product; a single value is a list of one.
Result<std::vector<std::string>> DimensionOf(const std::string& name, const YamlNode& value) {
  TextList texts;
  const bool list = value.kind == Kind::kList;
  for (size_t i = 0; i < (list ? value.items.size() : 1); ++i) {
    MUSTER_TRY(std::string text,
               Scalar(fmt::format("{}: a list of text", name), list ? value.items[i] : value));
    texts.push_back(std::move(text));
  }
  if (texts.empty()) return Fail(Code::kConfiguration, "{}: the list is empty", name);
  return texts;
}

Status Read(const Key&, const YamlNode& value, MapItems& out) {
  MapItems items;
  if (value.kind == Kind::kList) {
    for (const YamlNode& item : value.items) {
      MUSTER_TRY(MapItems::Fields fields, FieldsOf(item, fmt::format("item {}: ", items.list.size() + 1)));
      items.list.push_back(std::move(fields));
    }
  } else if (value.kind == Kind::kMap) {
    for (size_t i = 0; i < value.keys.size(); ++i) {
      MUSTER_TRY(TextList texts, DimensionOf(value.keys[i].text, value.items[i]));
      items.product.emplace_back(value.keys[i].text, std::move(texts));
    }
  } else if (value.kind != Kind::kNull) {
    MUSTER_TRY(items.file, Scalar("a file", value));
  }
  if (items.empty() && value.kind != Kind::kNull) {
    return WithHint(Fail(Code::kConfiguration, "there are no items"),
                    "write a file, [a, b], or {model: [a, b], task: [x, y]}");
  }
  out = std::move(items);
  return {};
}

// The choice that a word means; another name becomes its choice, and refused words are refused.
Result<size_t> ChoiceOf(const Key& key, const YamlNode& value) {
  MUSTER_TRY(const std::string text, Scalar(TypeName(key), value));
  std::string_view word = text;
  for (const SpecialWord& special : key.special_words) {
    if (special.word != word) continue;
    if (!special.refusal.empty()) {
      return WithHint(Fail(Code::kConfiguration, "\"{}\" is refused: {}", word, special.refusal),
                      std::string(special.advice));
    }
    word = special.means;
    break;
  }
  const auto found = std::ranges::find(key.choices, word);
  if (found == key.choices.end()) {
    return Fail(Code::kConfiguration, "{} is not one of {}", JsonQuoted(text), fmt::join(key.choices, ", "));
  }
  return static_cast<size_t>(found - key.choices.begin());
}

template <typename Enum>
requires std::is_enum_v<Enum> Status Read(const Key& key, const YamlNode& value, Enum& out) {
  MUSTER_TRY(const size_t index, ChoiceOf(key, value));
  out = static_cast<Enum>(index);
  return {};
}

// --- Writing. `Quote` is JsonQuoted or YamlQuoted. ---

using Quote = std::string (*)(std::string_view);

std::string Write(const Key&, const std::string& value, Quote quote) { return quote(value); }
std::string Write(const Key&, const Endpoint& value, Quote quote) { return quote(ToString(value)); }
std::string Write(const Key&, const PortRange& value, Quote quote) {
  return quote(fmt::format("{}-{}", value.first, value.last));
}
std::string Write(const Key&, const RunThreads& value, Quote quote) {
  if (value.choice == RunThreads::Choice::kCount) return std::to_string(value.count);
  return quote(value.choice == RunThreads::Choice::kAuto ? "auto" : "none");
}
std::string Write(const Key&, const Duration& value, Quote quote) { return quote(FormatDuration(value)); }
template <typename T>
std::string Write(const Key& key, const std::optional<T>& value, Quote quote) {
  return value ? Write(key, *value, quote) : "null";
}
std::string Write(const Key&, const int& value, Quote) { return std::to_string(value); }
std::string Write(const Key&, const MapSlots& value, Quote quote) {
  return fmt::format("{{{}: {}, {}: {}, {}: {}}}", quote("count"), value.count, quote("gpus"), value.gpus,
                     quote("cores"), value.cores);
}
std::string Write(const Key&, const bool& value, Quote) { return value ? "true" : "false"; }
std::string Write(const Key&, const TextList& value, Quote quote) {
  return "[" + Joined(value, ", ", quote) + "]";
}
template <typename Pairs>
std::string WritePairs(const Pairs& pairs, Quote quote) {
  const auto pair = [quote](const auto& one) { return quote(one.first) + ": " + quote(one.second); };
  return "{" + Joined(pairs, ", ", pair) + "}";
}
std::string Write(const Key&, const TextMap& value, Quote quote) { return WritePairs(value, quote); }
std::string WriteFields(const MapItems::Fields& fields, Quote quote) {
  if (fields.size() == 1 && fields.front().first == "item") return quote(fields.front().second);
  return WritePairs(fields, quote);
}
std::string Write(const Key& key, const MapItems& value, Quote quote) {
  if (value.empty()) return "null";
  if (!value.file.empty()) return quote(value.file);
  const auto fields = [quote](const MapItems::Fields& one) { return WriteFields(one, quote); };
  if (!value.list.empty()) return "[" + Joined(value.list, ", ", fields) + "]";
  const auto list = [&](const auto& one) { return quote(one.first) + ": " + Write(key, one.second, quote); };
  return "{" + Joined(value.product, ", ", list) + "}";
}
std::string Write(const Key& key, const Includes& value, Quote quote) {
  return value.files.empty() ? "null" : Write(key, value.files, quote);
}
template <typename Enum>
requires std::is_enum_v<Enum> std::string Write(const Key& key, const Enum& value, Quote quote) {
  return quote(key.choices[static_cast<size_t>(value)]);
}

std::string WriteField(const Key& key, const Config& config, Quote quote) {
  return std::visit([&](const auto& field) { return Write(key, field.of(config), quote); }, key.field);
}

}  // namespace

Status ReadValue(const Key& key, const YamlNode& value, Config& config) {
  if (const size_t bad = FirstInvalidUtf8(value.text); bad < value.text.size()) {
    return Fail(Code::kConfiguration, "byte {} is not UTF-8", bad + 1);
  }
  return std::visit([&](const auto& field) { return Read(key, value, field.in(config)); }, key.field);
}

std::string YamlValue(const Key& key, const Config& config) { return WriteField(key, config, YamlQuoted); }

std::string JsonValue(const Key& key, const Config& config) { return WriteField(key, config, JsonQuoted); }

std::string TypeName(const Key& key) {
  const std::string_view name = FactsOf(key).name;
  return name.empty() ? fmt::format("one of {}", fmt::join(key.choices, ", ")) : std::string(name);
}

std::string TypeWithLimit(const Key& key) {
  if (key.minimum <= Duration::zero()) return TypeName(key);
  return fmt::format("{}, at least {}", TypeName(key), FormatDuration(key.minimum));
}

std::string SpecialWordsText(const Key& key, std::string_view quote) {
  std::string text;
  for (const SpecialWord& special : key.special_words) {
    text += fmt::format("; {0}{1}{0} is ", quote, special.word);
    text += special.refusal.empty() ? fmt::format("another name for {0}{1}{0}", quote, special.means)
                                    : fmt::format("refused: {}", special.refusal);
  }
  return text;
}

bool IsNullable(const Key& key) { return FactsOf(key).nullable; }

bool IsCollection(const Key& key) { return FactsOf(key).collection; }

}  // namespace muster::config

#include "bootstrap/config/load.h"

#include <algorithm>

#include "bootstrap/config/table.h"
#include "bootstrap/config/text/nearest.h"
#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/text/read_file.h"
#include "bootstrap/config/value.h"
#include "bootstrap/config/yaml_tree.h"

namespace muster::config {
namespace {

using Kind = YamlNode::Kind;

constexpr const char* kInclude = "include";
constexpr size_t kMostFiles = 64;

tl::unexpected<Error> Located(std::string_view where, Error error) {
  error.message = fmt::format("{}: {}", where, error.message);
  return Fail(std::move(error));
}

std::string KeysOfSection(std::string_view section) {
  std::string names;
  for (const Key& key : Keys()) {
    if (SectionOf(key.path) != section) continue;
    if (!names.empty()) names += ", ";
    names += NameOf(key.path);
  }
  return names;
}

tl::unexpected<Error> UnknownKey(std::string_view where, std::string_view path) {
  const std::string_view nearest = NearestKey(path);
  const std::string shown = JsonQuoted(path);
  if (!nearest.empty()) {
    return Fail(Code::kConfiguration, "{}: unknown key {}; did you mean \"{}\"?", where, shown, nearest);
  }
  const std::string_view section = SectionOf(path);
  auto failure = Fail(Code::kConfiguration, "{}: unknown key {}", where, shown);
  if (!IsSection(section)) return WithHint(std::move(failure), "`muster config` shows all keys");
  return WithHint(std::move(failure), fmt::format("{} has {}", section, KeysOfSection(section)));
}

Status Set(EffectiveConfig& effective, const Key& key, const YamlNode& value, std::string_view where,
           std::string origin) {
  if (auto status = ReadValue(key, value, effective.config); !status) {
    return Located(where, std::move(status).error());
  }
  effective.origins[std::string(key.path)] = std::move(origin);
  return {};
}

// --- The file ---

class FileLayer {
 public:
  enum class UnknownKeys { kRefused, kIgnored };
  FileLayer(std::string_view name, EffectiveConfig& effective, UnknownKeys unknown)
      : name_(name), effective_(effective), unknown_(unknown) {}

  Status Apply(const YamlNode& root) {
    if (root.kind == Kind::kNull) return {};
    if (root.kind != Kind::kMap) {
      return Fail(Code::kConfiguration, "{}: a map of keys is expected, not {}", At(root),
                  KindName(root.kind));
    }
    for (size_t i = 0; i < root.keys.size(); ++i) MUSTER_CHECK(ApplyTop(root.keys[i], root.items[i]));
    return {};
  }

 private:
  std::string At(const YamlNode& node) const {
    return fmt::format("{}:{}:{}", name_, node.line, node.column);
  }

  Status ApplyTop(const YamlNode& name, const YamlNode& value) {
    if (!IsSection(name.text)) return ApplyKey(name.text, name, value);
    if (value.kind == Kind::kNull) return {};  // all its keys commented out
    if (value.kind != Kind::kMap) {
      return Fail(Code::kConfiguration, "{}: {}: a map of keys is expected, not {}", At(value), name.text,
                  KindName(value.kind));
    }
    for (size_t i = 0; i < value.keys.size(); ++i) {
      MUSTER_CHECK(ApplyKey(name.text + "." + value.keys[i].text, value.keys[i], value.items[i]));
    }
    return {};
  }

  Status ApplyKey(const std::string& path, const YamlNode& name, const YamlNode& value) {
    const Key* key = FindKey(path);
    if (key == nullptr && unknown_ == UnknownKeys::kIgnored) {
      effective_.warnings.push_back(fmt::format("{}: unknown key {} is ignored", At(name), JsonQuoted(path)));
      return {};
    }
    // "timeouts.collective: 1h" at the top would be a second way to write the same thing.
    if (key == nullptr || (!SectionOf(path).empty() && path == name.text)) return Unknown(path, name, key);
    if (path == kInclude) {  // the files were read before this one
      effective_.origins[path] = At(value);
      return {};
    }
    return Set(effective_, *key, value, fmt::format("{}: {}", At(value), path), At(value));
  }

  tl::unexpected<Error> Unknown(const std::string& path, const YamlNode& name, const Key* key) const {
    if (key == nullptr) return UnknownKey(At(name), path);
    return WithHint(Fail(Code::kConfiguration, "{}: unknown key \"{}\"", At(name), path),
                    fmt::format("write it in two lines of the file: {}: and, indented, {}:", SectionOf(path),
                                NameOf(path)));
  }

  std::string_view name_;
  EffectiveConfig& effective_;
  UnknownKeys unknown_;
};

// Null: the file has no such key.
const YamlNode* IncludeOf(const YamlNode& root) {
  const auto key = std::ranges::find(root.keys, kInclude, &YamlNode::text);
  return key == root.keys.end() ? nullptr : &root.items[static_cast<size_t>(key - root.keys.begin())];
}

// A file after those that it includes.
class FileTree {
 public:
  FileTree(const FileReader& read, EffectiveConfig& effective) : read_(read), effective_(effective) {}

  Status Apply(const std::filesystem::path& file) {
    MUSTER_TRY(const std::string text, read_(file));
    return ApplyText(file, text);
  }

 private:
  Status ApplyText(const std::filesystem::path& file, const std::string& text) {
    MUSTER_TRY(const YamlNode root, ParseYaml(text, file.native()));
    chain_.push_back(file.lexically_normal());
    if (const YamlNode* include = IncludeOf(root)) MUSTER_CHECK(ApplyIncludes(file, *include));
    chain_.pop_back();
    return FileLayer(file.native(), effective_, FileLayer::UnknownKeys::kRefused).Apply(root);
  }

  Status ApplyIncludes(const std::filesystem::path& file, const YamlNode& value) {
    const auto where = [&](const YamlNode& node) {
      return fmt::format("{}:{}:{}: include", file.native(), node.line, node.column);
    };
    Config config;
    if (auto status = ReadValue(*FindKey(kInclude), value, config); !status) {
      return Located(where(value), std::move(status).error());
    }
    for (size_t i = 0; i < config.include.files.size(); ++i) {
      MUSTER_CHECK(ApplyIncluded(file.parent_path() / config.include.files[i],
                                 where(value.kind == Kind::kList ? value.items[i] : value)));
    }
    return {};
  }

  Status ApplyIncluded(const std::filesystem::path& file, const std::string& where) {
    if (const auto begin = std::ranges::find(chain_, file.lexically_normal()); begin != chain_.end()) {
      std::string cycle;
      for (auto each = begin; each != chain_.end(); ++each) cycle += each->native() + " includes ";
      return WithHint(Fail(Code::kConfiguration, "{}: a cycle: {}{}", where, cycle, begin->native()),
                      "remove one of the includes");
    }
    if (++included_ == kMostFiles) {
      return Fail(Code::kConfiguration, "{}: more than {} files for one configuration", where, kMostFiles);
    }
    auto text = read_(file);
    if (!text) return Located(where, std::move(text).error());
    return ApplyText(file, *text);
  }

  const FileReader& read_;
  EffectiveConfig& effective_;
  std::vector<std::filesystem::path> chain_;  // from the first file to the one that is being read
  size_t included_ = 0;
};

EffectiveConfig AllDefaults() {
  EffectiveConfig effective;
  for (const Key& key : Keys()) effective.origins[std::string(key.path)] = "default";
  return effective;
}

// --- Single values: the environment and --set ---

// Lists and maps are YAML; all other text is literal, so that [2001:db8::1]:61000 needs no quotes.
Result<YamlNode> ParseSingle(const Key& key, const std::string& text, std::string_view where) {
  if (key.path == kInclude) {
    return WithHint(Fail(Code::kConfiguration, "{}: only a file can include files", where),
                    "write a file with include: and give it with -c");
  }
  if (IsCollection(key)) return ParseYaml(text, where);
  YamlNode value;
  const bool null = IsNullable(key) && (text.empty() || text == "null" || text == "~");
  value.kind = null ? Kind::kNull : Kind::kPlain;
  value.text = null ? std::string() : text;
  return value;
}

Status ApplySingle(const Key& key, const std::string& text, const std::string& where, std::string origin,
                   EffectiveConfig& effective) {
  MUSTER_TRY(const YamlNode value, ParseSingle(key, text, where));
  return Set(effective, key, value, where, std::move(origin));
}

// A variable that is no key but was surely meant to be one.
void WarnOfSlip(const std::string& name, const std::vector<std::string>& variables,
                EffectiveConfig& effective) {
  constexpr size_t kSlip = 2;
  const std::vector<std::string_view> candidates(variables.begin(), variables.end());
  const std::string_view nearest = Nearest(name, candidates);
  if (nearest.empty() || EditDistance(name, nearest) > kSlip) return;
  effective.warnings.push_back(fmt::format("{} is not a setting of muster; did you mean {}?", name, nearest));
}

Status ApplyEnvironment(const std::vector<std::pair<std::string, std::string>>& environment,
                        EffectiveConfig& effective) {
  if (environment.empty()) return {};
  std::vector<std::string> variables;
  for (const Key& key : Keys()) variables.push_back(VariableName(key));
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("MUSTER_")) continue;
    const auto found = std::ranges::find(variables, name);
    if (found == variables.end()) {
      WarnOfSlip(name, variables, effective);
      continue;
    }
    const Key& key = Keys()[static_cast<size_t>(found - variables.begin())];
    MUSTER_CHECK(ApplySingle(key, value, name, name, effective));
  }
  return {};
}

// "run.env={A: 1}" for "run.env.A" and "1"; nullopt if the key before the last dot has no such entries.
std::optional<std::string> AsEntryOfMap(const std::string& path, const std::string& value,
                                        EffectiveConfig effective) {
  const std::string map = path.substr(0, path.rfind('.'));
  const Key* key = FindKey(map);
  if (key == nullptr || !IsCollection(*key)) return std::nullopt;
  const bool is_text = std::holds_alternative<FieldOf<std::map<std::string, std::string>>>(key->field);
  const std::string entry =
      fmt::format("{{{}: {}}}", YamlQuoted(path.substr(map.size() + 1)), is_text ? YamlQuoted(value) : value);
  if (!ApplySingle(*key, entry, "--set", "--set", effective)) return std::nullopt;
  return map + "=" + entry;
}

Status ApplySet(const std::string& set, EffectiveConfig& effective) {
  const size_t equals = set.find('=');
  if (equals == std::string::npos) {
    return WithHint(Fail(Code::kConfiguration, "--set {}: the value is missing", JsonQuoted(set)),
                    "write --set key=value, for example --set timeouts.collective=1h");
  }
  const std::string path = set.substr(0, equals);
  if (IsSection(path)) {
    return WithHint(Fail(Code::kConfiguration, "--set: \"{}\" is a section, not a key", path),
                    fmt::format("it has {}", KeysOfSection(path)));
  }
  const Key* key = FindKey(path);
  if (key == nullptr) {
    const auto entry = AsEntryOfMap(path, set.substr(equals + 1), effective);
    if (!entry) return UnknownKey("--set", path);
    return WithHint(Fail(Code::kConfiguration, "--set: unknown key {}", JsonQuoted(path)),
                    fmt::format("write --set {}", ShellQuoted(*entry)));
  }
  return ApplySingle(*key, set.substr(equals + 1), "--set " + path, "--set", effective);
}

// --- The conditions between keys, once all have their values ---

// "liveness.dead_after is 3s (--set)".
std::string Describe(const EffectiveConfig& effective, std::string_view path) {
  const Key& key = *FindKey(path);
  return fmt::format("{} is {} ({})", path, YamlValue(key, effective.config),
                     effective.origins.at(std::string(path)));
}

Status CheckOrder(const EffectiveConfig& effective, std::string_view shorter, std::string_view longer,
                  bool holds) {
  if (holds) return {};
  return WithHint(
      Fail(Code::kConfiguration, "{}, but {}", Describe(effective, shorter), Describe(effective, longer)),
      fmt::format("set {} below {}", shorter, longer));
}

// All other timeouts need no order: each phase ends at its own, and the earlier of two wins.
Status CheckConfig(const EffectiveConfig& effective) {
  constexpr uint16_t kFirstUnprivilegedPort = 1024;
  const Config& config = effective.config;
  MUSTER_CHECK(CheckOrder(effective, "liveness.heartbeat", "liveness.suspect_after",
                          config.liveness.heartbeat < config.liveness.suspect_after));
  MUSTER_CHECK(CheckOrder(effective, "liveness.suspect_after", "liveness.dead_after",
                          config.liveness.suspect_after < config.liveness.dead_after));
  if (config.rendezvous.ports.last < kFirstUnprivilegedPort) {
    return WithHint(Fail(Code::kConfiguration, "{}: all below 1024", Describe(effective, "rendezvous.ports")),
                    "give ports from 1024 on: only root may listen below");
  }
  if (config.rendezvous.protect == Protect::kAll && config.rendezvous.auth == AuthMethod::kNone) {
    return WithHint(
        Fail(Code::kConfiguration, "{}, but {}", Describe(effective, "rendezvous.protect"),
             Describe(effective, "rendezvous.auth")),
        "set rendezvous.auth: munge or secret, which gives the keys, or rendezvous.protect: control");
  }
  return {};
}

}  // namespace

Result<std::string> ReadConfigFile(const std::filesystem::path& file) {
  return ReadSmallFile(file, kLargestYaml);
}

Result<EffectiveConfig> LoadConfig(const std::optional<std::filesystem::path>& file,
                                   const std::vector<std::pair<std::string, std::string>>& environment,
                                   const std::vector<std::string>& sets, const FileReader& read) {
  EffectiveConfig effective = AllDefaults();
  if (file) MUSTER_CHECK(FileTree(read, effective).Apply(*file));
  MUSTER_CHECK(ApplyEnvironment(environment, effective));
  for (const std::string& set : sets) MUSTER_CHECK(ApplySet(set, effective));
  MUSTER_CHECK(CheckConfig(effective));
  return effective;
}

Result<EffectiveConfig> LoadConfigText(const std::string& text, const std::string& name) {
  EffectiveConfig effective = AllDefaults();
  MUSTER_TRY(const YamlNode root, ParseYaml(text, name));
  if (const YamlNode* include = IncludeOf(root); include != nullptr && include->kind != Kind::kNull) {
    return Fail(Code::kConfiguration, "{}:{}:{}: include: only a file can include files", name, include->line,
                include->column);
  }
  MUSTER_CHECK(FileLayer(name, effective, FileLayer::UnknownKeys::kIgnored).Apply(root));
  MUSTER_CHECK(CheckConfig(effective));
  return effective;
}

}  // namespace muster::config

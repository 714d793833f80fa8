#include "bootstrap/map/expectation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "bootstrap/config/text/read_file.h"
#include "bootstrap/run/program/expected_files.h"
#include "comm/base/parse.h"

namespace muster::map {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLargestFile = size_t{64} << 20;
constexpr size_t kLargestValue = 4096;

struct Expectation {
  std::string file;
  std::string path;  // empty: the file alone
};

// A path of JSON has no slash: "a:b/c" is a file.
Expectation Cut(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) return {text, ""};
  if (text.find('/', colon) != std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Null if there is none. A name may hold dots itself ("acc.norm"): every cut is tried, the shortest name
// first.
const ordered_json* Find(const ordered_json& value, std::string_view path) {
  if (path.empty()) return &value;
  for (size_t dot = path.find('.');; dot = path.find('.', dot + 1)) {
    const std::string name(path.substr(0, dot));
    const std::string_view rest = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    const ordered_json* next = nullptr;
    if (value.is_object()) {
      const auto found = value.find(name);
      if (found != value.end()) next = &*found;
    } else if (value.is_array()) {
      const auto index = ParseInteger<size_t>(name);
      if (index && *index < value.size()) next = &value[*index];
    }
    if (next != nullptr) {
      if (const ordered_json* found = Find(*next, rest)) return found;
    }
    if (dot == std::string_view::npos) return nullptr;
  }
}

// The fault; empty: the value was added.
std::string FaultOfValue(const std::string& directory, const Expectation& expected, FoundValues& found) {
  auto text = config::ReadSmallFile(directory + "/" + expected.file, kLargestFile);
  if (!text) return fmt::format("{} cannot be read", expected.file);
  const auto json = ordered_json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fmt::format("{} is not JSON", expected.file);
  const ordered_json* value = Find(json, expected.path);
  if (value == nullptr) return fmt::format("{} has no {}", expected.file, expected.path);
  if (value->is_null()) return fmt::format("{} in {} is null", expected.path, expected.file);
  std::string shown = value->dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (shown.size() <= kLargestValue)
    found.emplace_back(expected.file + ":" + expected.path, std::move(shown));
  return "";
}

// glob(7) in `directory`, whose own name may hold its characters.
std::string Quoted(const std::string& directory, bool glob) {
  if (!glob) return directory;
  std::string quoted;
  for (const char c : directory) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string Without(std::string text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
  return text;
}

}  // namespace

tl::expected<FoundValues, std::string> CheckExpectations(const std::string& directory,
                                                         const std::vector<std::string>& expected) {
  FoundValues found;
  std::vector<std::string> files;
  const bool special = directory.find_first_of("*?[") != std::string::npos;
  for (const std::string& text : expected) {
    const std::string file = Cut(text).file;
    const bool glob = special || file.find_first_of("*?[") != std::string::npos;
    files.push_back(Quoted(directory, glob) + "/" + file);
  }
  const std::string missing = run::MissingFiles(files, {});
  if (!missing.empty()) return tl::unexpected(Without(missing, directory + "/"));
  for (const std::string& text : expected) {
    const Expectation expectation = Cut(text);
    if (expectation.path.empty()) continue;
    const std::string fault = FaultOfValue(directory, expectation, found);
    if (!fault.empty()) return tl::unexpected(fault);
  }
  return found;
}

}  // namespace muster::map

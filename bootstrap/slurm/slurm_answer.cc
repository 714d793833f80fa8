#include "bootstrap/slurm/slurm_answer.h"

#include <nlohmann/json.hpp>

namespace muster::slurm {
namespace {

using nlohmann::json;

constexpr int64_t kMostTasks = 1 << 24;
constexpr size_t kMostProblems = 32;
constexpr size_t kLongestWord = 1024;

tl::unexpected<Error> Wrong(std::string_view what) {
  return Fail(Code::kDisagreement, "muster-slurm printed {}", what);
}

// Null if it is absent.
const json& Member(const json& object, const char* name) {
  static const json kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

Result<std::string> Word(const json& value, std::string_view what) {
  if (!value.is_string()) return Wrong(fmt::format("{} that is no text", what));
  std::string word = value.get<std::string>();
  if (word.empty() || word.size() > kLongestWord) {
    return Wrong(fmt::format("{} of {} characters", what, word.size()));
  }
  return word;
}

Result<SlurmAnswer::Node> ReadNode(const json& value) {
  if (!value.is_object()) return Wrong("a node that is no object");
  SlurmAnswer::Node node;
  MUSTER_TRY(node.name, Word(Member(value, "node"), "a node's name"));
  const json& tasks = Member(value, "tasks");
  if (!tasks.is_array()) return Wrong("tasks that are no list");
  for (const json& task : tasks) {
    if (!task.is_number_integer() || task.get<int64_t>() < 0 || task.get<int64_t>() >= kMostTasks) {
      return Wrong("a task that is no number of one");
    }
    node.tasks.push_back(static_cast<int>(task.get<int64_t>()));
  }
  return node;
}

Result<std::optional<SlurmAnswer::Layout>> ReadLayout(const json& value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_array()) return Wrong("a layout that is no list");
  SlurmAnswer::Layout layout;
  for (const json& entry : value) {
    MUSTER_TRY(SlurmAnswer::Node node, ReadNode(entry));
    layout.push_back(std::move(node));
  }
  return layout;
}

Status ReadAddresses(const json& value, SlurmAnswer& answer) {
  if (value.is_null()) return {};
  if (!value.is_object()) return Wrong("addresses that are no object");
  for (const auto& [node, address] : value.items()) {
    MUSTER_TRY(answer.addresses[node], Word(address, "an address"));
  }
  return {};
}

Status ReadProblems(const json& value, SlurmAnswer& answer) {
  if (value.is_null()) return {};
  if (!value.is_array() || value.size() > kMostProblems) return Wrong("problems that are no short list");
  for (const json& entry : value) {
    MUSTER_TRY(std::string problem, Word(entry, "a problem"));
    answer.problems.push_back(std::move(problem));
  }
  return {};
}

}  // namespace

Result<SlurmAnswer> ParseSlurmAnswer(std::string_view text) {
  if (text.size() > kLongestSlurmAnswer) return Wrong(fmt::format("{} bytes", text.size()));
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Wrong("no JSON object");
  SlurmAnswer answer;
  const json& layouts = Member(object, "layouts");
  if (!layouts.is_null() && !layouts.is_array()) return Wrong("layouts that are no list");
  for (const json& value : layouts) {
    MUSTER_TRY(std::optional<SlurmAnswer::Layout> layout, ReadLayout(value));
    answer.layouts.push_back(std::move(layout));
  }
  if (const json& end = Member(object, "end_time"); !end.is_null()) {
    if (!end.is_number_integer()) return Wrong("an end_time that is no number");
    answer.end_time = end.get<int64_t>();
  }
  MUSTER_CHECK(ReadAddresses(Member(object, "addresses"), answer));
  MUSTER_CHECK(ReadProblems(Member(object, "problems"), answer));
  return answer;
}

}  // namespace muster::slurm

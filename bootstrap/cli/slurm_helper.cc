// muster-slurm: queries slurmctld for facts that a step's environment lacks, and prints one JSON object. A
// program of its own because libslurm ends its process if it finds no configuration, and because each release
// of Slurm has another library. muster runs it under a deadline, and works without it if it fails.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/slurm/slurm_api.h"
#include "comm/base/parse_integer.h"

namespace muster::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kUsageStatus = 64;
// The process that started it has given up long before.
constexpr unsigned kLongestSeconds = 30;

constexpr const char* kHelp =
    R"(usage: muster-slurm [--layout JOB.STEP]... [--end JOB] [--address NODE]...

Queries Slurm's controller and prints one JSON object:

  slurm      the release of libslurm that this is built with
  layouts    for each --layout, in order: [{"node": NAME, "tasks": [TASK, ...]}, ...], or null
  end_time   the end of the job's time, in seconds since 1970, or null
  addresses  each node's address or name in slurm.conf
  problems   the reasons for values that are null or missing

`muster` starts it by itself, once, if it needs these facts: see bootstrap/slurm/README.md.

  $ muster-slurm --layout $SLURM_JOB_ID.0 --end $SLURM_JOB_ID
)";

struct Request {
  struct Step {
    uint32_t job = 0;
    uint32_t step = 0;
  };
  std::vector<Step> layouts;
  std::optional<uint32_t> end;
  std::vector<std::string> addresses;
};

std::optional<Request::Step> ParseStep(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto job = ParseInteger<uint32_t>(text.substr(0, dot));
  const auto step = ParseInteger<uint32_t>(text.substr(dot + 1));
  if (!job || !step) return std::nullopt;
  return Request::Step{*job, *step};
}

bool Take(std::string_view flag, std::string_view value, Request& request) {
  if (flag == "--layout") {
    const auto step = ParseStep(value);
    if (step) request.layouts.push_back(*step);
    return step.has_value();
  }
  if (flag == "--end") {
    const auto job = ParseInteger<uint32_t>(value);
    if (job) request.end = *job;
    return job.has_value();
  }
  request.addresses.emplace_back(value);
  return flag == "--address" && !value.empty();
}

std::optional<Request> ParseArguments(const std::vector<std::string_view>& arguments) {
  Request request;
  if (arguments.empty() || arguments.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (!Take(arguments[i], arguments[i + 1], request)) return std::nullopt;
  }
  return request;
}

void AddTask(void* context, const char* node, uint32_t task) {
  ordered_json& layout = *static_cast<ordered_json*>(context);
  if (layout.empty() || layout.back()["node"] != node) {
    layout.push_back({{"node", node}, {"tasks", ordered_json::array()}});
  }
  layout.back()["tasks"].push_back(task);
}

class Answer {
 public:
  Answer() {
    json_["slurm"] = MusterSlurmRelease();
    json_["layouts"] = ordered_json::array();
    json_["end_time"] = nullptr;
    json_["addresses"] = ordered_json::object();
    json_["problems"] = ordered_json::array();
  }

  void AddLayout(const Request::Step& step) {
    ordered_json layout = ordered_json::array();
    const int error = MusterSlurmLayout(step.job, step.step, AddTask, &layout);
    if (error != 0) Problem("step " + std::to_string(step.job) + "." + std::to_string(step.step), error);
    json_["layouts"].push_back(error == 0 ? std::move(layout) : ordered_json());
  }
  void AddEnd(uint32_t job) {
    int64_t end = 0;
    const int error = MusterSlurmJobEnd(job, &end);
    if (error != 0) return Problem("job " + std::to_string(job), error);
    json_["end_time"] = end;
  }
  void AddAddress(const std::string& node) {
    std::array<char, 1024> address{};
    const int error = MusterSlurmAddress(node.c_str(), address.data(), address.size());
    if (error != 0) return Problem("node " + node, error);
    json_["addresses"][node] = address.data();
  }

  std::string Text() const {
    return json_.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
  }

 private:
  void Problem(const std::string& what, int error) {
    json_["problems"].push_back(what + ": " + MusterSlurmErrorText(error));
  }

  ordered_json json_;
};

int Main(const std::vector<std::string_view>& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const std::optional<Request> request = ParseArguments(arguments);
  if (!request) {
    std::fputs(kHelp, stderr);
    return kUsageStatus;
  }
  alarm(kLongestSeconds);
  MusterSlurmStart();
  Answer answer;
  for (const Request::Step& step : request->layouts) answer.AddLayout(step);
  if (request->end) answer.AddEnd(*request->end);
  for (const std::string& node : request->addresses) answer.AddAddress(node);
  return std::puts(answer.Text().c_str()) < 0 ? 1 : 0;
}

}  // namespace
}  // namespace muster::cli

int main(int count, char** words) { return muster::cli::Main({words + 1, words + count}); }

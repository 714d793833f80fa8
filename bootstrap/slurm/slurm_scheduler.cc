#include "bootstrap/slurm/slurm_scheduler.h"

#include <chrono>

#include "bootstrap/process/captured.h"
#include "bootstrap/resolve/launchers/launchers.h"
#include "bootstrap/resolve/slurm/slurm_variables.h"
#include "bootstrap/slurm/exact_layout.h"
#include "bootstrap/slurm/helper_files.h"
#include "bootstrap/slurm/job_end.h"
#include "bootstrap/slurm/slurm_answer.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kHelper = "muster-slurm";

class SlurmScheduler : public rendezvous::Scheduler {
 public:
  struct Params {
    Environment environment;
    std::optional<std::string> helper;
    std::vector<std::string> jobs;  // of the components, in their order
    std::string step;
    std::string node;
    std::vector<int> here;  // ranks
    Placement placement;
    TimeoutOptions timeouts;
    bool job_end_is_known = false;
  };

  explicit SlurmScheduler(Params params) : params_(std::move(params)) {}

  rendezvous::SchedulerQuestion Unknown() const override {
    const Placement& placement = params_.placement;
    rendezvous::SchedulerQuestion question;
    question.layout = placement.nodes.size() > 1 && placement.node_of_rank.empty();
    question.job_end = !params_.job_end_is_known && params_.timeouts.cap_at_job_end;
    return question;
  }

  Result<rendezvous::SchedulerFacts> Ask(const rendezvous::SchedulerQuestion& question,
                                         Deadline deadline) const override {
    std::vector<std::string> variables = VariablesForHelper(params_.environment);
    std::vector<std::string> files = HelperFiles(params_.helper, variables);
    process::CaptureRequest request{std::string(kHelper), std::move(files), ArgumentsFor(question),
                                    std::move(variables), kLongestSlurmAnswer};
    MUSTER_TRY(const std::string text, process::Capture(request, deadline));
    MUSTER_TRY(const SlurmAnswer answer, ParseSlurmAnswer(text));
    rendezvous::SchedulerFacts facts;
    facts.addresses = answer.addresses;
    if (question.layout) {
      facts.placement = ExactLayout(params_.placement, answer.layouts, params_.node, params_.here);
    }
    if (question.job_end) TakeEnd(answer, facts);
    const bool learned = facts.placement || facts.time_left || !facts.addresses.empty();
    if (learned || answer.problems.empty()) return facts;
    return Fail(Code::kSystem, "muster-slurm: {}", answer.problems.front());
  }

 private:
  std::vector<std::string> ArgumentsFor(const rendezvous::SchedulerQuestion& question) const {
    std::vector<std::string> arguments;
    const auto add = [&](std::string_view flag, std::string value) {
      arguments.emplace_back(flag);
      arguments.push_back(std::move(value));
    };
    for (const std::string& job : params_.jobs) {
      if (question.layout) add("--layout", fmt::format("{}.{}", job, params_.step));
    }
    if (question.job_end) add("--end", params_.jobs.front());
    for (const std::string& node : question.nodes) add("--address", node);
    return arguments;
  }

  void TakeEnd(const SlurmAnswer& answer, rendezvous::SchedulerFacts& facts) const {
    using std::chrono::seconds;
    if (!answer.end_time) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto left = TimeLeftUntil(*answer.end_time, std::chrono::duration_cast<seconds>(now).count());
    if (!left) return;
    facts.time_left = UsableOf(*left);
    facts.time_note = DescribeCap(params_.timeouts, left, "Slurm");
  }

  const Params params_;
};

// Of a heterogeneous job each component has a number of its own, and the step the same in all.
std::vector<std::string> JobsOf(const Environment& environment, std::string_view job) {
  std::vector<std::string> jobs;
  for (const std::string_view prefix : {"SLURM_JOB_ID_HET_GROUP_", "SLURM_JOB_ID_PACK_GROUP_"}) {
    while (resolve::IsHeterogeneous(environment)) {
      const auto component = environment.Get(fmt::format("{}{}", prefix, jobs.size()));
      if (!component) break;
      jobs.emplace_back(*component);
    }
    if (!jobs.empty()) return jobs;
  }
  return {std::string(job)};
}

}  // namespace

std::shared_ptr<const rendezvous::Scheduler> MakeSlurmScheduler(const Environment& environment,
                                                                const resolve::Resolution& resolution,
                                                                const Placement& placement,
                                                                const std::optional<std::string>& helper,
                                                                const TimeoutOptions& timeouts) {
  const RankTuple& tuple = resolution.tuple;
  if (!resolve::HasRole(tuple.launcher, resolve::LauncherRole::kSlurm) || tuple.job.step.empty() ||
      helper == "none")
    return nullptr;
  SlurmScheduler::Params params;
  params.environment = environment;
  params.helper = helper;
  params.jobs = JobsOf(environment, tuple.job.id);
  params.step = tuple.job.step;
  params.node = tuple.node.value_or("");
  params.here =
      resolve::ParseTaskIds(environment.Get("SLURM_GTIDS").value_or("")).value_or(std::vector<int>{});
  params.placement = placement;
  params.timeouts = timeouts;
  params.job_end_is_known = environment.Has("SLURM_JOB_END_TIME");
  return std::make_shared<SlurmScheduler>(std::move(params));
}

}  // namespace muster::slurm

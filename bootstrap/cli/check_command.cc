// muster check: form the group, verify it, print a report, leave.
#include <algorithm>
#include <cstdio>

#include "bootstrap/check/collect.h"
#include "bootstrap/check/findings/judge.h"
#include "bootstrap/check/findings/report.h"
#include "bootstrap/check/gather.h"
#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/join/membership.h"
#include "bootstrap/process/standard_streams.h"
#include "bootstrap/resolve/resolve_report.h"
#include "bootstrap/run/planner.h"
#include "comm/log/log.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(For a job that hangs at its start. muster forms the group of this launch, verifies it, and prints a report on rank 0.
Every pair of nodes must connect in both directions, and every collective must give the right result. Round trips,
bandwidth, clocks, limits and versions are compared, and a node that differs is named.)",
    .examples = R"(srun -N4 --ntasks-per-node=4 muster check
srun sh -c 'muster check && muster run -- python evaluate.py'
srun muster check --json >report.json)",
    .notes =
        R"(A node's figures are the medians of its pairs. A node is slow if this holds in two measurements: its round trip is more than
4 times that of the median node, and 0.2 ms longer; or its bandwidth is less than half of the median node's. The factor
must also exceed the cube of the usual one: half of all nodes differ from the median by less than that. The nodes to
leave out are a line of their own: --exclude=gpu03.)",
    .exit_status = R"(0 also with warnings
69 nodes cannot reach each other
70 a collective gave a wrong result
75 ranks are missing; they are named)",
};

struct CheckFlags {
  bool json = false;
  bool quick = false;
};

// A check is short: the deadlines configured for hours of work do not bound a few bytes.
TimeoutOptions ForCheck(TimeoutOptions timeouts) {
  constexpr Duration kSoon = std::chrono::minutes(1);
  for (Duration* timeout : {&timeouts.collective, &timeouts.barrier}) *timeout = std::min(*timeout, kSoon);
  return timeouts;
}

// One rank prints for all; every rank has the same facts.
Status Report(const check::Evidence& evidence, const check::Verdict& verdict, bool json) {
  Status printed =
      process::Print(json ? check::CheckJson(evidence, verdict) : check::CheckText(evidence, verdict));
  if (printed) printed = process::FlushOutput();
  if (!verdict.failures.empty()) LogError("muster check failed: {}", verdict.failures.front().message);
  return printed;
}

Result<int> CheckGroup(join::Membership& membership, const join::Started& started,
                       const Environment& environment, const CheckFlags& flags, bool& reports) {
  check::CollectOptions options;
  options.bandwidth = !flags.quick;
  options.timeouts = membership.timeouts;
  options.gpus = check::GpusToCheck(membership.gpus);
  if (const auto devices = environment.Get("CUDA_VISIBLE_DEVICES")) {
    options.visible_devices = std::string(*devices);
  }
  MUSTER_TRY(check::Evidence evidence,
             check::CollectEvidence(*membership.group, *membership.communicator, options));
  check::AddGpuFacts(membership.gpus, evidence);
  evidence.launcher = started.resolution.tuple.launcher;
  evidence.job = started.resolution.tuple.job.key;
  evidence.interface_set = started.effective.config.rendezvous.interface.has_value();
  evidence.formed_in = membership.formed_in;
  const check::Verdict verdict = check::Judge(evidence);
  Status reported;
  // Before it leaves: a rank that exits with a failure may end all others, as with srun --kill-on-bad-exit.
  if (membership.group->rank() == 0) reported = Report(evidence, verdict, flags.json);
  reports = false;
  membership.communicator.reset();
  const Status left = membership.group->Leave(Deadline::After(membership.timeouts.shutdown));
  MUSTER_CHECK(reported);
  // The report names the failure of the group; leaving fails for the same reason.
  if (!left && verdict.exit_status == 0) return tl::unexpected<Error>(left.error());
  return verdict.exit_status;
}

int Refused(const Environment& environment, const join::StartOptions& asked, resolve::Refusal refusal,
            bool json) {
  refusal.error = join::ReportStartFailure(environment, asked, refusal).error;
  // The one object is rank 0's, wherever there is one.
  const bool reports = !refusal.awaited || refusal.awaited->tuple.rank == 0;
  if (!json || !reports) return ReportError(refusal.error);
  if (const Status printed = process::Print(resolve::ResolveJson(refusal)); !printed)
    return ReportError(printed.error());
  return ExitStatus(refusal.error.code);
}

// `reports` becomes false on a rank that leaves the JSON object to rank 0, and once that is printed.
Result<int> Check(const SharedFlags& shared, const CheckFlags& flags, bool& reports) {
  const Environment environment = Environment::OfThisProcess();
  MUSTER_TRY(join::StartOptions asked, StartOptionsFrom(shared));
  asked.command = "muster check";
  const auto started = join::StartUp(environment, asked);
  if (!started) return Refused(environment, asked, started.error(), flags.json);
  reports = started->resolution.tuple.rank == 0;
  run::WarnOfNoLauncher(environment, started->effective.config, started->resolution, "muster check",
                        "-- muster check");
  MUSTER_TRY(join::Membership membership,
             join::EnterGroup(environment, started->effective.config, asked, started->resolution, ForCheck));
  return CheckGroup(membership, *started, environment, flags, reports);
}

}  // namespace

CommandText AddCheckCommand(Options& options, Run& run) {
  const auto shared = AddConfigFlags(options);
  AddLaunchFlags(options, shared);
  const auto flags = std::make_shared<CheckFlags>();
  options.Under(kOutput);
  options.Flag("--json", flags->json, "print one JSON object, on rank 0");
  options.Flag("--quick", flags->quick, "leave the measurement of bandwidth out");
  run = [shared, flags] {
    bool reports = true;
    const Result<int> status = Check(*shared, *flags, reports);
    return StatusOf(status, flags->json && reports);
  };
  return kText;
}

}  // namespace muster::cli

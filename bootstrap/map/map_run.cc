#include "bootstrap/map/map_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "bootstrap/join/membership.h"
#include "bootstrap/map/attempt_directory.h"
#include "bootstrap/map/slots.h"
#include "bootstrap/map/worker.h"
#include "bootstrap/process/descendants.h"
#include "bootstrap/process/end_request.h"
#include "bootstrap/process/signal_reach.h"
#include "bootstrap/process/signals.h"
#include "bootstrap/resources/threads.h"
#include "bootstrap/run/program/program_environment.h"
#include "comm/log/log.h"
#include "comm/system/start_thread.h"

namespace muster::map {
namespace {

// After the request to end, a rank waits this long, beyond run.grace, for killed processes. It waits as long
// again for the end of the map once its own programs have ended: the other ranks may end too, or go on.
constexpr Duration kBeyondGrace = std::chrono::seconds(8);
constexpr Duration kFarewell = std::chrono::seconds(4);
// Every item's end sends SIGCHLD, and a search for orphans costs as much as a tenth of a short item. Attempts
// reap their own when they end.
constexpr Duration kReapEvery = std::chrono::seconds(1);
constexpr uint64_t kMostGivenUp = 10;

// The variables of every item's program: a world of one, in any group.
run::Variables ProgramVariables(const MapStart& start, const MapPlan& plan, const Roster& roster, int rank,
                                std::optional<int> threads) {
  Roster alone;
  alone.nodes.push_back({roster.NodeName(rank), {}});
  alone.members.push_back({0, 0, getpid(), {}});
  run::ProgramFacts facts{alone};
  facts.job_key = start.resolution.tuple.job.key;
  facts.master_host = "127.0.0.1";
  facts.rewrite_for_rank = roster.size() > 1;  // the launcher's variables become those of one task
  facts.threads = threads;
  run::Variables variables = run::ProgramVariables(start.environment.All(), facts);
  for (const char* own : {"MUSTER_ITEM", "MUSTER_ITEM_INDEX", "MUSTER_ITEM_KEY", "MUSTER_ITEM_DIR",
                          "MUSTER_ITEM_ATTEMPT", "PWD", "OLDPWD"})
    variables.erase(own);
  for (const auto& [name, text] : plan.attempt.variables) variables.erase(name);
  return variables;
}

// The share of one slot.
std::optional<int> ThreadsOfSlot(const MapStart& start, const Roster& roster, int rank) {
  const config::MapSlots& slots = start.config.map.slots;
  if (slots.cores > 0) return slots.cores;
  auto threads = ThreadsOfRank(start.config.run.threads, roster, rank, start.environment.All());
  if (slots.count == 1 || start.config.run.threads.choice != config::RunThreads::Choice::kAuto)
    return threads;
  return std::max(1, threads.value_or(UsableCpus()) / slots.count);
}

OwnValues OwnOf(const Roster& roster, int rank, const std::string& job_key) {
  OwnValues own;
  for (const char* name :
       {"rank", "local_rank", "node", "world_size", "local_world_size", "node_rank", "num_nodes", "job_key"})
    own[name] = run::ValueOfRank(name, roster, rank, job_key);
  return own;
}

Result<std::vector<Worker::Slot>> MakeSlots(const MapStart& start, const MapPlan& plan, const Roster& roster,
                                            int rank) {
  const RankResources resources = ResourcesOfThisProcess(start.environment.All());
  const Roster::Member& member = roster.members[static_cast<size_t>(rank)];
  MUSTER_TRY(const std::vector<SlotResources> shares,
             ShareOut(start.config.map.slots, resources, member.local_rank, roster.LocalSize(member.node)));
  const run::Variables variables =
      ProgramVariables(start, plan, roster, rank, ThreadsOfSlot(start, roster, rank));
  std::vector<Worker::Slot> slots;
  for (const SlotResources& share : shares) {
    run::Variables own = variables;
    own["MUSTER_SLOT"] = std::to_string(slots.size());
    if (!share.gpus.empty()) own[resources.gpu_variable] = fmt::format("{}", fmt::join(share.gpus, ","));
    slots.push_back({{static_cast<int>(slots.size()), run::ToList(own)}, share.cores});
  }
  return slots;
}

// The work, on a thread of its own; the main thread receives the signals.
class MapWork {
 public:
  MapWork(const MapStart& start, MapPlan& plan) : start_(start), plan_(plan) {}

  Result<MapEnd> Run() {
    MUSTER_TRY(join::Membership membership,
               join::EnterGroup(start_.environment, start_.config, start_.asked, start_.resolution));
    Group& group = *membership.group;
    plan_.options.EndBefore(membership.timeouts.latest);
    MUSTER_TRY(MapEnd end, WorkIn(group, Deadline::After(membership.timeouts.init)));
    end.reports = group.rank() == 0;
    known_ = end;
    MUSTER_CHECK(group.Leave(Deadline::After(membership.timeouts.shutdown)));
    return end;
  }

  // Also if the group has failed since the map was over.
  const std::optional<MapEnd>& known() const { return known_; }

  // To the programs at work.
  void PassOn(int signal) const { plan_.attempt.programs->Signal(signal); }

  // Readable once this rank's programs have ended for the last time.
  int served_fd() const { return served_.fd(); }

  // Whether there was something to stop: before that the process may simply end.
  bool Stop() {
    const std::lock_guard lock(mutex_);
    if (worker_ == nullptr) return over_;
    worker_->Stop();
    return true;
  }

 private:
  Result<MapEnd> WorkIn(Group& group, Deadline joined) {
    const Roster& roster = group.roster();
    const int rank = group.rank();
    plan_.attempt.rank = rank;
    plan_.attempt.own = OwnOf(roster, rank, start_.resolution.tuple.job.key);
    plan_.attempt.run = RunName(plan_.options.journal,
                                roster.group_id.empty()
                                    ? fmt::format("{}-{}", getpid(), Clock::now().time_since_epoch().count())
                                    : roster.group_id);
    Result<std::vector<Worker::Slot>> prepared = Prepare(roster, rank);
    if (!prepared) {
      // The other ranks need not wait for this one to learn the reason of its absence.
      Error error = prepared.error();
      error.message = fmt::format("{}: {}", DescribeRank(roster, rank), error.message);
      group.Fail(error);
      return Fail(std::move(prepared).error());
    }
    std::vector<Worker::Slot> slots = *std::move(prepared);
    plan_.options.slots = static_cast<int>(slots.size());
    MUSTER_TRY(const std::unique_ptr<Member> member,
               start_.join(group, plan_.identity, plan_.options, joined));
    if (rank == 0) RemoveOldAttempts(plan_.attempt.output, plan_.attempt.run);
    const Status served = Serve(group, *member, std::move(slots));
    if (!served && roster.size() > 1 && !group.failure())
      LogWarning("{}; this rank takes no further items", ToString(served.error()));
    // Also after an error: the root of the group may be in this process, and ends with it.
    Result<MapEnd> end = Finish(*member, rank);
    if (!served) return Fail(served.error());
    return end;
  }

  Result<std::vector<Worker::Slot>> Prepare(const Roster& roster, int rank) const {
    MUSTER_TRY(std::vector<Worker::Slot> slots, MakeSlots(start_, plan_, roster, rank));
    MUSTER_CHECK(CheckProgram(plan_.attempt, slots.front().attempt));
    MUSTER_CHECK(PrepareOutput(plan_.attempt.output));
    return slots;
  }

  Status Serve(Group& group, Member& member, std::vector<Worker::Slot> slots) {
    Worker worker(member, *plan_.items, plan_.attempt, std::move(slots));
    {
      const std::lock_guard lock(mutex_);
      worker_ = &worker;
    }
    Status served = worker.Run(&group);
    const std::lock_guard lock(mutex_);
    worker_ = nullptr;
    over_ = true;
    served_.Raise();
    return served;
  }

  Result<MapEnd> Finish(Member& member, int rank) const {
    MapEnd end;
    MUSTER_TRY(end.outcome, member.Finish());
    if (rank != 0) return end;
    for (const uint64_t item : end.outcome.first_poisoned) {
      if (end.given_up.size() == kMostGivenUp) break;
      MUSTER_TRY(const std::vector<JournalRecord> records, member.Read(item, 1));
      for (const JournalRecord& record : records) {
        end.given_up.push_back(
            {record.key, record.node, record.rank, record.attempts, std::string(AsText(record.payload))});
      }
    }
    RemoveAttemptsOf(plan_.attempt.output, plan_.attempt.run);
    return end;
  }

  const MapStart& start_;
  MapPlan& plan_;
  std::mutex mutex_;
  Worker* worker_ = nullptr;  // while it works
  const StopFlag served_;
  bool over_ = false;
  std::optional<MapEnd> known_;
};

// The main thread meanwhile: signals, and orphans.
class SignalWatch {
 public:
  // `is_task`: Slurm has started this very process.
  SignalWatch(std::unique_ptr<process::SignalRelay> relay, MapWork& work, Duration grace, bool is_task,
              bool speaks)
      : relay_(std::move(relay)), work_(work), grace_(grace), is_task_(is_task), speaks_(speaks) {}

  // A signal from here on has no effect.
  void KeepBlocked() const { relay_->KeepBlocked(); }

  // Until `done` is readable. The signal that requested the end, or 0.
  int Serve(int done) {
    for (;;) {
      const int served = signal_ == 0 || farewell_ ? -1 : work_.served_fd();
      std::array<pollfd, 3> fds = {{{relay_->fd(), POLLIN, 0}, {done, POLLIN, 0}, {served, POLLIN, 0}}};
      poll(fds.data(), fds.size(), end_by_.EarlierOf(reap_at_).PollMilliseconds());
      while (const auto event = relay_->Next()) Take(*event);
      if ((fds[1].revents & POLLIN) != 0) return signal_;
      if ((fds[2].revents & POLLIN) != 0) {
        farewell_ = true;
        end_by_ = end_by_.EarlierOf(Deadline::After(kFarewell));
      }
      if (end_by_.Expired()) GiveUp();
      if (reap_at_.Expired()) {
        reap_at_ = Deadline::Never();
        process::ReapOrphans();
      }
    }
  }

 private:
  void Take(const process::SignalEvent& event) {
    if (event.number == SIGCHLD) {
      if (reap_at_.IsNever()) reap_at_ = Deadline::After(kReapEvery);
      return;
    }
    if (process::IsForPrograms(event.number) || event.number == SIGQUIT) {
      if (!process::ReachedProgram(event, true, is_task_)) work_.PassOn(event.number);
      return;
    }
    if (!process::AsksToEnd(event.number)) return;
    if (!work_.Stop()) {
      relay_.reset();  // the signal has its effect
      raise(event.number);
      return;
    }
    if (signal_ != 0 && event.number == SIGINT) end_by_ = Deadline::After({});  // a second Ctrl-C
    if (signal_ != 0) return;
    signal_ = event.number;
    if (speaks_) LogInfo("{}: the items in hand are given back", process::DescribeRequest(signal_, ""));
    end_by_ = Deadline::After(grace_ + kBeyondGrace);
  }

  [[noreturn]] void GiveUp() const {
    static_cast<void>(process::KillDescendants(Deadline::After(std::chrono::seconds(1))));
    MapEnd end;
    end.outcome.items = 1;  // some are left
    end.signal = signal_;
    _exit(ExitStatusOf(end));
  }

  std::unique_ptr<process::SignalRelay> relay_;
  MapWork& work_;
  const Duration grace_;
  const bool is_task_;
  const bool speaks_;  // for all ranks
  int signal_ = 0;
  bool farewell_ = false;                 // only the other ranks still have work
  Deadline end_by_ = Deadline::Never();   // a signal bounds it
  Deadline reap_at_ = Deadline::Never();  // SIGCHLD sets it
};

}  // namespace

Result<MapEnd> RunMap(const MapStart& start, MapPlan& plan) {
  MUSTER_TRY(std::unique_ptr<process::SignalRelay> relay, process::SignalRelay::Start());
  MUSTER_CHECK(process::BecomeSubreaper());
  MapWork work(start, plan);
  const StopFlag done;
  MUSTER_CHECK(done.Check());
  Result<MapEnd> end = MapEnd{};
  MUSTER_TRY(std::thread thread, StartThread("the map", [&] {
               end = work.Run();
               done.Raise();
             }));
  const bool is_task = start.environment.Get("SLURM_TASK_PID") == std::to_string(getpid());
  SignalWatch watch(std::move(relay), work, plan.attempt.grace, is_task, start.resolution.tuple.rank == 0);
  const int signal = watch.Serve(done.fd());
  thread.join();
  watch.KeepBlocked();
  static_cast<void>(process::KillDescendants(Deadline::After(std::chrono::seconds(5))));
  // If this rank receives a request to end, so do others, the root perhaps first: no failure of theirs.
  if (!end && signal != 0) {
    LogDebug("{}", ToString(end.error()));
    end = work.known().value_or(MapEnd{});
    end->outcome.items = plan.items->size();
    end->outcome.time_is_up = true;
  }
  if (end) end->signal = signal;
  return end;
}

}  // namespace muster::map

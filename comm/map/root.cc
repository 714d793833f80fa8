#include "comm/map/root.h"

#include <algorithm>
#include <array>
#include <utility>

#include "comm/base/parse.h"
#include "comm/base/printable.h"
#include "comm/base/suspended.h"
#include "comm/log/log.h"

namespace muster::map {
namespace {

constexpr Duration kTick = std::chrono::seconds(1);
constexpr Duration kAskAgain = std::chrono::seconds(1);
// A rank may itself end an item that is out of time, and report it.
constexpr Duration kOverdue = std::chrono::seconds(2);
// The time beyond 95 of 100 items' durations, for the journal and the answer.
constexpr Duration kSlack = std::chrono::seconds(5);
// As in options.h.
constexpr size_t kFirstPoisoned = 100;
constexpr size_t kFailedNamed = 10;
constexpr size_t kRecordsAtOnce = 1 << 20;
constexpr size_t kOtherFields = 128;
// Of an error, in a log line and a report.
constexpr size_t kLongestLine = 1000;

std::string FirstLine(std::string_view error) {
  return std::string(error.substr(0, std::min(error.find('\n'), kLongestLine)));
}

Error OtherMap(const Roster& roster, int rank, const Join& join, int first_rank, const Join& first) {
  const auto describe = [](const Join& one) {
    return fmt::format("{} items ({}) of \"{}\"", one.identity.items, ShortName(one.identity.keys),
                       one.identity.subject);
  };
  std::string message = fmt::format("{} maps {}, {} maps {}", DescribeRank(roster, rank), describe(join),
                                    DescribeRank(roster, first_rank), describe(first));
  if (join.identity == first.identity) {
    message = fmt::format("{} and {} have different options for their map: {}", DescribeRank(roster, rank),
                          DescribeRank(roster, first_rank), join.options.DifferencesFrom(first.options));
  }
  return {Code::kDisagreement, std::move(message),
          "give every rank the same items, in the same order, and the same options"};
}

}  // namespace

Root::Root(Params params) : params_(std::move(params)) {}

Root::~Root() {
  // Its end waits for the disk.
  if (journal_) params_.worker.Run([journal = std::move(journal_)]() mutable { journal.reset(); }, [] {});
}

void Root::Receive(int rank, MessageType type, ByteView message) {
  if (const auto known = ranks_.find(rank); known != ranks_.end()) {
    known->second.asked.reset();
    ledger_->Touch(rank);
  }
  if (type == MessageType::kJoin) {
    if (const auto join = Decode<Join>(message)) OnJoin(rank, *join);
    return;
  }
  if (type == MessageType::kLeave) return Lose(rank, "");
  if (type == MessageType::kRead) {
    if (const auto read = Decode<ReadRecords>(message)) OnRead(rank, *read);
    return;
  }
  if (type == MessageType::kClasses) {
    const auto classes = Decode<Classes>(message);
    if (classes && ledger_ && rank == 0) ledger_->Classify(classes->first, classes->classes);
    return;
  }
  if (state_ != State::kOpen || !ranks_.contains(rank)) return;
  const auto now = Clock::now();
  if (type == MessageType::kWant) {
    ledger_->Want(rank);
  } else if (type == MessageType::kStop) {
    ledger_->Stop(rank);
  } else if (type == MessageType::kCommit) {
    if (auto commit = Decode<Commit>(message)) OnCommit(rank, *std::move(commit));
  } else if (type == MessageType::kFail) {
    if (auto failed = Decode<Failed>(message)) OnFailed(rank, *std::move(failed));
  } else if (type == MessageType::kGiveBack) {
    if (const auto returned = Decode<GivenBack>(message)) ledger_->GiveBack(rank, returned->items, now);
  }
  Dispatch();
}

// ---- beginning

void Root::OnJoin(int rank, const Join& join) {
  if (!first_) {
    first_ = join;
    first_rank_ = rank;
  } else if (!(join.identity == first_->identity) || !join.options.DifferencesFrom(first_->options).empty()) {
    const Error error = OtherMap(params_.roster, rank, join, first_rank_, *first_);
    if (state_ != State::kOver) GiveUp(error);
    return Send(rank, Refused{error});
  }
  ranks_[rank] = {};
  done_.erase(rank);
  lost_.erase(rank);
  if (join.options.time_left > Duration::zero())
    latest_ = latest_.EarlierOf(Deadline::After(join.options.time_left));
  if (!ledger_) ledger_ = std::make_unique<Ledger>(first_->identity.items, first_->options.retries);
  ledger_->Join({rank, params_.roster.NodeOf(rank)}, join.options.slots);
  if (state_ == State::kNew) return Open();
  Welcome(rank);
}

void Root::Open() {
  state_ = State::kOpening;
  const auto opened = std::make_shared<std::optional<Result<JournalWriter::Opened>>>();
  params_.worker.Run(
      [opened, path = first_->options.journal, identity = first_->identity, owner = params_.owner,
       again = first_->options.retry_poisoned, mailbox = params_.loop.mailbox()] {
        *opened = JournalWriter::Open(path, identity, owner, again, mailbox);
      },
      [this, opened, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) OnOpened(std::move(**opened));
      });
}

void Root::OnOpened(Result<JournalWriter::Opened> opened) {
  if (state_ != State::kOpening) return;
  if (!opened) return LoseJournal(opened.error());
  for (const std::string& note : opened->notes) LogWarning("{}", note);
  journal_ = std::move(opened->writer);
  for (const JournalWriter::Resumed& one : opened->resumed) {
    ledger_->Resume(one.item, one.ending == Ending::kPoisoned, one.took);
    if (one.ending == Ending::kPoisoned && poisoned_.size() < kFirstPoisoned) poisoned_.push_back(one.item);
  }
  state_ = State::kOpen;
  opened_ = Clock::now();
  if (!first_->options.quiet) log_.Begin(ledger_->items().progress(), Clock::now());
  for (const auto& [rank, state] : ranks_) Welcome(rank);
  OnTick();
  CheckOver();
}

void Root::Welcome(int rank) {
  switch (state_) {
    case State::kNew:
    case State::kOpening:
      return;
    case State::kFailed:
      return Send(rank, Refused{*error_});
    case State::kOpen:
    case State::kClosing:
      return params_.send(rank, EncodeBare(MessageType::kOpened, params_.map));
    case State::kOver:
      params_.send(rank, EncodeBare(MessageType::kOpened, params_.map));
      return Send(rank, Over{OutcomeNow()});
  }
}

// ---- items

void Root::OnCommit(int rank, Commit commit) {
  JournalRecord& record = commit.record;
  const auto verdict = ledger_->Commit(rank, record.item, record.took, Clock::now());
  // A second result of an item: dropped, and the rank need not wait for it.
  if (verdict != Ledger::Verdict::kTaken) return OnDurable(rank, {});
  if (slowest_.Takes(record.took)) slowest_.Add({record.item, record.key, rank, record.took});
  record.ending = Ending::kCommitted;
  record.rank = rank;
  record.node = params_.roster.NodeName(rank);
  record.attempts = ledger_->items().AttemptsOf(record.item);
  Append(std::move(record), rank);
}

void Root::OnFailed(int rank, Failed failed) {
  const auto verdict = ledger_->Fail(rank, failed.item, failed.took, Clock::now());
  if (verdict == Ledger::Verdict::kIgnored) return;
  LogEvent(LogLevel::kWarning, "map_item_failed",
           {{"item", failed.item},
            {"key", failed.key},
            {"rank", rank},
            {"tries", ledger_->items().AttemptsOf(failed.item)}},
           "item {} ({}) failed on {}, try {} of {}: {}", failed.item, Printable(failed.key),
           DescribeRank(params_.roster, rank), ledger_->items().AttemptsOf(failed.item),
           first_->options.retries + 1, FirstLine(failed.error));
  if (verdict != Ledger::Verdict::kPoisoned) return;
  if (slowest_.Takes(failed.took)) slowest_.Add({failed.item, failed.key, rank, failed.took});
  Poison(rank, failed.item, std::move(failed.key), failed.error, failed.took);
}

void Root::Poison(int rank, uint64_t item, std::string key, const std::string& error, Duration took) {
  if (poisoned_.size() < kFirstPoisoned) poisoned_.push_back(item);
  if (failed_.size() < kFailedNamed) failed_.push_back({item, key, rank, took, FirstLine(error)});
  const ByteView bytes = AsBytes(error);
  Append({Ending::kPoisoned, item, std::move(key), rank, params_.roster.NodeName(rank),
          ledger_->items().AttemptsOf(item), took, Format::kBytes, Bytes(bytes.begin(), bytes.end())},
         std::nullopt);
}

void Root::Append(JournalRecord record, std::optional<int> notify) {
  const uint64_t bytes = backlog_.Add(record, Clock::now());
  journal_->Append(std::move(record),
                   [this, notify, bytes, alive = std::weak_ptr(alive_)](const Status& status) {
                     if (alive.expired()) return;
                     OnDurable(notify, status);
                     Answered(bytes);
                   });
}

// Grants that have waited for the disk are due.
void Root::Answered(uint64_t bytes) {
  const bool was_full = backlog_.full();
  backlog_.Remove(bytes, Clock::now());
  if (was_full && !backlog_.full()) Dispatch();
}

void Root::OnDurable(std::optional<int> notify, const Status& status) {
  if (!status) return LoseJournal(status.error());
  const auto rank = notify ? ranks_.find(*notify) : ranks_.end();
  if (rank == ranks_.end()) return;
  ++rank->second.durable;
  rank->second.notified = false;
  if (std::exchange(telling_, true)) return;
  // One message for all that became durable together.
  params_.loop.Post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) SendDurable();
  });
}

void Root::SendDurable() {
  telling_ = false;
  for (auto& [rank, state] : ranks_) {
    if (!std::exchange(state.notified, true)) Send(rank, Durable{state.durable});
  }
}

void Root::Dispatch() {
  if (state_ != State::kOpen) return;
  NoticeSuspension();
  const auto now = Clock::now();
  CheckTime();
  if (!backlog_.full()) {
    for (Ledger::Grant& grant : ledger_->TakeGrants(now)) Send(grant.rank, Granted{std::move(grant.items)});
  }
  for (const int rank : ledger_->TakeRecalls(now, kAskAgain)) {
    if (!ranks_[rank].asked) ranks_[rank].asked = now;
    params_.send(rank, EncodeBare(MessageType::kRecall, params_.map));
  }
  CheckOver();
}

void Root::Lose(int rank, const std::string& why) {
  done_.insert(rank);
  if (ranks_.erase(rank) > 0) {
    // `why` may name another rank of its node.
    const std::string name = DescribeRank(params_.roster, rank);
    const std::string loss = why.starts_with(name) ? why : fmt::format("{} is lost ({})", name, why);
    if (!why.empty() && at_work()) lost_.insert(rank);
    const Ledger::Lost lost = ledger_->Lose(rank);
    if (!why.empty() && state_ == State::kOpen) {
      LogEvent(LogLevel::kWarning, "map_rank_lost", {{"rank", rank}, {"items", lost.returned}},
               "{}; {} of its items go to other ranks", loss, lost.returned);
    }
    const std::string reason = why.empty() ? "its rank left the map" : loss + ", while at work on it";
    for (const GrantedItem& item : lost.poisoned) Poison(rank, item.index, "", reason, {});
    Dispatch();
    last_loss_ = why;
  }
  CheckAbandoned();
  CheckDone();
}

// Not while ranks of the group may still join the map: they may be loading their models.
void Root::CheckAbandoned() {
  if (last_loss_.empty() || !ranks_.empty() || !AllAreDone()) return;
  const bool over = state_ == State::kOpen ? ledger_->IsOver() : state_ != State::kOpening;
  if (over) return;
  const Progress& progress = ledger_->items().progress();
  const Error error{
      Code::kWorkFailed,
      fmt::format("no rank is left to work on the map: {}; {} of {} items are left", last_loss_,
                  progress.left(), progress.items),
      first_->options.journal.empty() ? "" : "start it again with the same journal: it continues from there"};
  GiveUp(error);
  params_.fail(error);
}

// ---- time

void Root::OnTick() {
  if (state_ != State::kOpen && state_ != State::kClosing && state_ != State::kOver) return;
  NoticeSuspension();
  tick_ = params_.loop.After(kTick, [this] { OnTick(); });
  tick_due_ = Clock::now() + kTick;
  if (state_ == State::kOver) return CheckLeft();
  CheckDisk();
  if (state_ == State::kClosing) return;
  if (!first_->options.quiet)
    log_.Log(ledger_->items().progress(), Clock::now(), [this] { return NodeShares(); });
  CheckSilent();
  CheckOverdue();
  Dispatch();
}

// The ranks of a job are suspended together with this process, and its end is as much later.
void Root::NoticeSuspension() {
  const Duration stall = SuspendedFor(tick_due_, Clock::now());
  if (stall == Duration::zero()) return;
  tick_due_ += stall;
  ledger_->Postpone(stall);
  for (auto& [rank, state] : ranks_)
    if (state.asked) *state.asked += stall;
  if (!latest_.IsNever()) latest_ = Deadline::At(latest_.when() + stall);
}

// Otherwise a map at rest would have no reason: its items are done, and their results wait.
void Root::CheckDisk() {
  const std::optional<Duration> silent = backlog_.TakeReport(Clock::now());
  if (!silent) return;
  LogEvent(LogLevel::kWarning, "map_journal_waits", {{"records", backlog_.records()}},
           "the disk of the journal {} has not answered for {} s: {} results wait for it{}",
           first_->options.journal, std::chrono::duration_cast<std::chrono::seconds>(*silent).count(),
           backlog_.records(), backlog_.full() ? ", and no further item is begun" : "");
}

void Root::CheckOverdue() {
  const Duration limit = first_->options.timeout;
  if (limit <= Duration::zero()) return;
  for (const auto& [rank, item] : ledger_->FindOverdue(Clock::now() - kOverdue, limit)) {
    // The process ends, or gives back what it has not begun; else it is stopped, and counts as silent.
    Send(rank, Expired{item});
    Rank& state = ranks_[rank];
    if (!state.asked) state.asked = Clock::now();
  }
}

void Root::CheckSilent() {
  const auto now = Clock::now();
  for (auto& [rank, state] : ranks_) {
    if (!state.asked || now - *state.asked < params_.silent_after) continue;
    const uint64_t shared = ledger_->Share(rank);
    state.asked.reset();
    if (shared == 0) continue;
    LogEvent(LogLevel::kWarning, "map_rank_silent", {{"rank", rank}, {"items", shared}},
             "{} has not answered for {} s; {} of its items go to other ranks",
             DescribeRank(params_.roster, rank),
             std::chrono::duration_cast<std::chrono::seconds>(params_.silent_after).count(), shared);
  }
}

// A stopped process would keep its run from ending, because its launcher waits for it.
void Root::CheckLeft() {
  const auto now = Clock::now();
  for (auto& [rank, state] : ranks_) {
    if (!state.asked) {
      state.asked = now;
      params_.send(rank, EncodeBare(MessageType::kRecall, params_.map));
      continue;
    }
    if (!ledger_->IsSilent(rank) && now - *state.asked < params_.silent_after) continue;
    return params_.on_stopped(
        {Code::kPeerLost,
         fmt::format("{} does not answer although the map is over: its process is stopped or hangs",
                     DescribeRank(params_.roster, rank)),
         "end that process; what the map has done is in its journal"});
  }
}

// Of the ranks in the map.
std::vector<NodeShare> Root::NodeShares() const {
  std::vector<NodeShare> nodes(params_.roster.nodes.size());
  for (const RankShare& share : ledger_->Shares(Clock::now())) {
    const int node = params_.roster.NodeOf(share.rank);
    nodes[static_cast<size_t>(node)].done += share.done;
    if (ranks_.contains(share.rank)) nodes[static_cast<size_t>(node)].slots += share.slots;
  }
  for (size_t node = 0; node < nodes.size(); ++node) nodes[node].name = params_.roster.nodes[node].name;
  return nodes;
}

void Root::CheckTime() {
  if (latest_.IsNever() || ledger_->items().closed() || ledger_->items().progress().left() == 0) return;
  if (!ledger_->Limit(latest_.Remaining() - kSlack)) return;
  const uint64_t left = ledger_->items().closed() ? ledger_->items().progress().left() - AtWork()
                                                  : ledger_->items().held_back();
  if (left == 0) return;
  LogEvent(LogLevel::kWarning, "map_time_is_up", {{"left", left}}, "the job ends soon: {}, {} are left",
           ledger_->items().closed() ? "no further item of the map is begun"
                                     : "no further item of some classes is begun",
           left);
}

uint64_t Root::AtWork() const {
  uint64_t at_work = 0;
  for (const RankShare& share : ledger_->Shares(Clock::now())) at_work += share.at_work;
  return at_work;
}

// ---- the end

// No rank wants a further item, and no further rank can join: without this, Finish would wait forever.
bool Root::AllHaveStopped() const {
  return !ranks_.empty() && std::cmp_greater_equal(ranks_.size() + done_.size(), params_.roster.size()) &&
         ledger_->AllStopped();
}

void Root::CheckOver() {
  if (state_ != State::kOpen || !(ledger_->IsOver() || AllHaveStopped())) return;
  state_ = State::kClosing;
  ended_ = Clock::now();
  // It makes the last records durable.
  const auto closed = std::make_shared<Status>();
  params_.worker.Run([closed, journal = journal_] { *closed = journal->Close(); },
                     [this, closed, alive = std::weak_ptr(alive_)] {
                       if (alive.expired()) return;
                       if (!*closed) return LoseJournal(closed->error());
                       if (!first_->options.quiet) log_.End(ledger_->items().progress(), *ended_);
                       state_ = State::kOver;
                       // Rank 0 may join later. A rank that leaves from now on has the results.
                       while (done_.contains(results_at_)) ++results_at_;
                       params_.on_over();
                       for (const auto& [rank, state] : ranks_) Send(rank, Over{OutcomeNow()});
                     });
}

Outcome Root::OutcomeNow() const {
  const Progress& progress = ledger_->items().progress();
  return {progress.items,      progress.committed,      progress.resumed, progress.poisoned,
          progress.left() > 0, progress.second_commits, poisoned_,        results_at_};
}

MapState Root::Look() const {
  MapState map;
  map.number = params_.map;
  map.phase = PhaseNow();
  if (!first_) return map;
  const auto now = ended_.value_or(Clock::now());
  map.subject = first_->identity.subject;
  map.journal = first_->options.journal;
  map.time_is_up = ledger_->items().closed();
  map.progress = ledger_->items().progress();
  if (opened_ != Clock::time_point{}) map.elapsed = now - opened_;
  map.slowest = slowest_.items();
  map.longest = ledger_->LongestAtWork(now).items();
  map.failed = failed_;
  map.ranks = ledger_->Shares(now);
  for (RankShare& rank : map.ranks) rank.lost = lost_.contains(rank.rank);
  return map;
}

MapPhase Root::PhaseNow() const {
  constexpr std::array<MapPhase, 6> kOfState = {MapPhase::kOpening, MapPhase::kOpening, MapPhase::kAtWork,
                                                MapPhase::kOver,    MapPhase::kOver,    MapPhase::kFailed};
  return kOfState.at(static_cast<size_t>(state_));
}

void Root::OnRead(int rank, const ReadRecords& read) {
  if (state_ != State::kOver) return;
  const auto answer = std::make_shared<Records>();
  const auto failed = std::make_shared<Status>();
  params_.worker.Run(
      [answer, failed, journal = journal_, first = read.first,
       end = std::min(first_->identity.items, read.first + read.count)] {
        size_t bytes = 0;
        for (answer->next = first; answer->next < end && bytes < kRecordsAtOnce; ++answer->next) {
          auto record = journal->Read(answer->next);
          // Not ended: the time was up.
          if (!record && record.error().code == Code::kUsage) continue;
          if (!record) {
            *failed = tl::unexpected<Error>(record.error());
            return;
          }
          bytes += record->payload.size() + record->key.size() + kOtherFields;
          answer->records.push_back(*std::move(record));
        }
      },
      [this, rank, answer, failed, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        if (!*failed) return Send(rank, Refused{OfRoot(failed->error())});
        Send(rank, *answer);
      });
}

void Root::GiveUp(const Error& error) {
  if (state_ == State::kFailed) return;
  state_ = State::kFailed;
  if (!ended_) ended_ = Clock::now();
  tick_.Cancel();
  error_ = error;
  params_.on_over();
  for (const auto& [rank, state] : ranks_) Send(rank, Refused{error});
}

bool Root::AllAreDone() const { return std::cmp_greater_equal(done_.size(), params_.roster.size()); }

void Root::CheckDone() {
  if (AllAreDone()) params_.on_done();
}

}  // namespace muster::map

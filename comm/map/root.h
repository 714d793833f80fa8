// The root's side of a map: grants items, writes their results to the journal, and announces the end.
//
// Runs on one EventLoop; the calls that may block (opening, closing and reading the journal) run on the
// worker.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "comm/map/backlog.h"
#include "comm/map/journal/writer.h"
#include "comm/map/ledger.h"
#include "comm/map/messages.h"
#include "comm/map/progress_log.h"
#include "comm/map/state.h"
#include "comm/net/event_loop.h"
#include "comm/roster.h"
#include "comm/system/blocking_worker.h"

namespace muster::map {

class Root {
 public:
  struct Params {
    net::EventLoop& loop;
    BlockingWorker& worker;
    const Roster& roster;
    uint32_t map = 0;
    JournalOwner owner;
    Duration silent_after{};  // liveness.dead_after: then a rank's items also go to other ranks
    std::function<void(int rank, ByteView message)> send;
    std::function<void(const Error& error)> fail;  // every rank was lost, or left the group
    // The map is over, and a rank that has not left it does not answer: once a second.
    std::function<void(const Error& error)> on_stopped;
    std::function<void()> on_over;  // before the ranks receive this, or that the map has failed
    std::function<void()> on_done;  // every rank is done with this map, or lost; may not destroy the Root
    int root_rank = 0;
  };

  explicit Root(Params params);
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root();

  // A message of this map. Malformed ones are dropped.
  void Receive(int rank, MessageType type, ByteView message);
  // The rank has ended, or its node is silent. Empty `why`: it has left in order.
  void Lose(int rank, const std::string& why);
  // The map is neither over nor failed.
  bool at_work() const { return state_ != State::kOver && state_ != State::kFailed; }
  // At any time; costs a step per rank.
  MapState Look() const;
  // No item is begun that would not end by then, by the durations of earlier items.
  void SetLatest(Deadline latest) { latest_ = latest_.EarlierOf(latest); }

 private:
  enum class State : uint8_t { kNew, kOpening, kOpen, kClosing, kOver, kFailed };
  struct Rank {
    uint64_t durable = 0;
    bool notified = true;                    // of `durable`
    std::optional<Clock::time_point> asked;  // and has not answered since
  };

  void OnJoin(int rank, const Join& join);
  void Open();
  void OnOpened(Result<JournalWriter::Opened> opened);
  void Welcome(int rank);
  void OnCommit(int rank, Commit commit);
  void OnFailed(int rank, Failed failed);
  void OnRead(int rank, const ReadRecords& read);
  void Poison(int rank, uint64_t item, std::string key, const std::string& error, Duration took);
  void Append(JournalRecord record, std::optional<int> notify);
  void OnDurable(std::optional<int> notify, const Status& status);
  void Answered(uint64_t bytes);
  void CheckDisk();
  void SendDurable();
  void Dispatch();
  void CheckTime();
  uint64_t AtWork() const;
  void CheckSilent();
  void CheckLeft();
  std::vector<NodeShare> NodeShares() const;
  void CheckOverdue();
  bool AllHaveStopped() const;
  void CheckOver();
  void OnTick();
  void NoticeSuspension();
  void GiveUp(const Error& error);
  void LoseJournal(const Error& error) { GiveUp(OfRoot(error)); }
  // An error of the operating system is one of the root's node, and all ranks report it.
  Error OfRoot(Error error) const {
    if (error.code == Code::kSystem)
      error.message = fmt::format("{}: {}", DescribeRank(params_.roster, params_.root_rank), error.message);
    return error;
  }
  void CheckAbandoned();
  bool AllAreDone() const;
  void CheckDone();
  Outcome OutcomeNow() const;
  MapPhase PhaseNow() const;
  template <typename Message>
  void Send(int rank, const Message& message) {
    params_.send(rank, Encode(params_.map, message));
  }

  Params params_;
  State state_ = State::kNew;
  std::optional<Join> first_;  // the first rank's, with which all ranks must agree
  int first_rank_ = -1;
  std::map<int, Rank> ranks_;  // those that have joined
  std::set<int> done_;         // left, or lost
  int results_at_ = 0;         // the first rank that was not lost when the map was over
  std::string last_loss_;      // of a rank that took part; empty: the last one has left in order
  std::shared_ptr<JournalWriter> journal_;
  Backlog backlog_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<uint64_t> poisoned_;
  LongestItems slowest_;
  std::vector<ItemTime> failed_;  // the first ones of this run
  std::set<int> lost_;
  Clock::time_point opened_{};
  std::optional<Clock::time_point> ended_;
  std::optional<Error> error_;
  Deadline latest_ = Deadline::Never();
  ProgressLog log_;
  net::Timer tick_;
  Clock::time_point tick_due_ = Clock::time_point::max();
  bool telling_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::map

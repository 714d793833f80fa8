// Runs that have ended, for the tests of their reports.
#pragma once

#include <fmt/core.h>

#include <csignal>

#include "bootstrap/report/run_record.h"

namespace muster::run {

using std::chrono::milliseconds;

inline rendezvous::RankEnd EndedBy(int rank, rendezvous::EndCause cause, int code, int signal, Duration run) {
  return {rank, cause, rendezvous::OutOfMemory::kNo, code, signal, milliseconds(2), milliseconds(300), run};
}

// All ranks came within `spread` and ended with 0 after a minute.
inline report::RunRecord GoodRun(int ranks, int ranks_on_node, Duration spread = milliseconds(90)) {
  report::RunRecord record;
  record.job = "slurm:4.0:0";
  record.group = "0123456789abcdef0123456789abcdef";
  record.command = {"python", "evaluate.py", "--task", "a <b>"};
  record.grace = std::chrono::seconds(10);
  record.began = std::chrono::system_clock::time_point{std::chrono::milliseconds(1795313440007)};
  record.joining = milliseconds(3);
  record.formed = milliseconds(310);
  record.ended = milliseconds(60310);
  for (int rank = 0; rank < ranks; ++rank) {
    report::RankRecord of_rank;
    of_rank.node = fmt::format("gpu{:02}", rank / ranks_on_node + 1);
    of_rank.arrived = spread * rank / ranks;
    of_rank.end = EndedBy(rank, rendezvous::EndCause::kItself, 0, 0, milliseconds(60000));
    record.ranks.push_back(of_rank);
  }
  return record;
}

// Rank 9 of 16 on four nodes fails after 12 s; rank 6 needs SIGKILL; rank 14 had ended with 0 and left.
inline report::RunRecord FailedRun() {
  report::RunRecord record = GoodRun(16, 4);
  record.exit_status = 3;
  record.failure = rendezvous::Failure{
      {Code::kPeerLost, "rank 9 on gpu03 failed: exit 3", ""},
      9,
      3,
      "Traceback (most recent call last):\n  File \"x.py\", line 3\nRuntimeError: <boom>"};
  record.failed = milliseconds(12310);
  record.ended = milliseconds(22310);
  for (int rank = 0; rank < 16; ++rank) {
    record.ranks[static_cast<size_t>(rank)].end =
        EndedBy(rank, rendezvous::EndCause::kTerminated, 0, SIGTERM, milliseconds(12100));
  }
  record.ranks[9].end = EndedBy(9, rendezvous::EndCause::kItself, 3, 0, milliseconds(12000));
  record.ranks[6].end = EndedBy(6, rendezvous::EndCause::kKilled, 0, SIGKILL, milliseconds(22000));
  record.ranks[14].end.reset();
  record.ranks[14].left = true;
  return record;
}

// Ranks 8-11 of 16 never came.
inline report::RunRecord NeverFormed() {
  report::RunRecord record = GoodRun(16, 4);
  record.group = "";
  record.formed.reset();
  record.failed = record.ended = std::chrono::seconds(20);
  record.exit_status = 75;
  record.failure = rendezvous::Failure{
      {Code::kDeadline, "the group did not form within 20s: 12/16 ranks; missing gpu03: 8-11", "wait longer"},
      -1,
      -1,
      ""};
  for (size_t rank = 0; rank < 16; ++rank) {
    record.ranks[rank].end.reset();
    if (rank / 4 == 2) record.ranks[rank].arrived.reset();
  }
  return record;
}

}  // namespace muster::run

#include "bootstrap/report/run_recorder.h"

#include <csignal>
#include <utility>

namespace muster::report {

std::string DescribeEnd(const process::ChildExit& exit, rendezvous::OutOfMemory out_of_memory) {
  const bool killed = exit.signal == SIGKILL;
  if (out_of_memory == rendezvous::OutOfMemory::kOwn) {
    return exit.Describe() +
           (killed ? ", out of memory" : ", after the kernel killed a process of it, out of memory");
  }
  if (out_of_memory == rendezvous::OutOfMemory::kNode && killed) {
    return exit.Describe() + ", perhaps out of memory: the kernel killed a process on this node for that";
  }
  return exit.Describe();
}

RunRecorder::RunRecorder(const Facts& facts)
    : began_(facts.began), world_size_(static_cast<size_t>(facts.world_size)) {
  record_.job = facts.job;
  record_.command = facts.command;
  record_.grace = facts.grace;
  record_.began = std::chrono::system_clock::now() -
                  std::chrono::duration_cast<std::chrono::system_clock::duration>(Now());
  if (world_size_ > 1) return;
  record_.ranks.resize(1);
  record_.ranks.front().node = facts.node;
}

void RunRecorder::Joining() { record_.joining = Now(); }

void RunRecorder::TakeArrivals(const rendezvous::Arrivals* arrivals) {
  if (arrivals == nullptr) return;
  record_.ranks.resize(world_size_);
  for (const auto& [rank, arrival] : *arrivals) {
    RankRecord& of_rank = record_.ranks.at(static_cast<size_t>(rank));
    of_rank.arrived = arrival.at;
    of_rank.node = arrival.node;
  }
}

void RunRecorder::Formed(const rendezvous::FormedGroup& group, const rendezvous::Arrivals* arrivals) {
  record_.formed = Now();
  record_.group = group.roster.group_id;
  record_.root = group.root_rank;
  TakeArrivals(arrivals);
  for (size_t rank = 0; rank < record_.ranks.size(); ++rank) {
    record_.ranks[rank].node = group.roster.NodeName(static_cast<int>(rank));
  }
}

void RunRecorder::Initialized() {
  if (!record_.initialized) record_.initialized = Now();
}

void RunRecorder::Failed(const rendezvous::Failure& failure) {
  if (record_.failure) return;
  record_.failure = failure;
  record_.failed = Now();
  if (!IsRequest(failure)) return;
  record_.failure->rank = -1;
  record_.failure->stderr_tail.clear();
}

void RunRecorder::NotFormed(const rendezvous::Arrivals* arrivals, const Placement& placement) {
  record_.ranks.resize(world_size_);
  if (placement.node_of_rank.size() == world_size_) {
    for (size_t rank = 0; rank < record_.ranks.size(); ++rank) {
      record_.ranks[rank].node = placement.nodes[static_cast<size_t>(placement.node_of_rank[rank])].name;
    }
  }
  TakeArrivals(arrivals);
}

rendezvous::RankEnd RunRecorder::MakeEnd(int rank, rendezvous::EndCause cause) const {
  rendezvous::RankEnd end;
  end.rank = rank;
  end.cause = cause;
  end.resolve = record_.joining;
  end.join = record_.formed.value_or(Now()) - record_.joining;
  end.run = record_.formed ? Now() - *record_.formed : Duration{};
  return end;
}

void RunRecorder::Ended(int rank, const process::ChildExit& exit, rendezvous::OutOfMemory out_of_memory) {
  const rendezvous::EndCause cause = killed_.contains(rank)       ? rendezvous::EndCause::kKilled
                                     : terminated_.contains(rank) ? rendezvous::EndCause::kTerminated
                                                                  : rendezvous::EndCause::kItself;
  rendezvous::RankEnd end = MakeEnd(rank, cause);
  end.exit_code = exit.code;
  end.signal = exit.signal;
  end.out_of_memory = out_of_memory;
  own_ends_.push_back(end);
}

void RunRecorder::NotStarted(int rank) {
  own_ends_.push_back(MakeEnd(rank, rendezvous::EndCause::kNotStarted));
}

void RunRecorder::AddEnds(const std::vector<rendezvous::RankEnd>& ends) {
  for (const rendezvous::RankEnd& end : ends) {
    if (end.rank >= 0 && end.rank < static_cast<int>(record_.ranks.size())) {
      record_.ranks[static_cast<size_t>(end.rank)].end = end;
    }
  }
}

RunRecord RunRecorder::Finish(int exit_status, const std::function<bool(int)>& has_left,
                              std::vector<map::MapState> maps) {
  AddEnds(own_ends_);
  record_.ended = Now();
  record_.exit_status = exit_status;
  record_.maps = std::move(maps);
  for (size_t rank = 0; rank < record_.ranks.size(); ++rank) {
    record_.ranks[rank].left = has_left(static_cast<int>(rank));
  }
  return record_;
}

}  // namespace muster::report

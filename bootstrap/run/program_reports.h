// A supervisor's answer about its programs to a status request: the process it started, and, if that program
// has joined the group itself, the program's own report. If stacks are requested, a thread of its own has
// them read.
//
// Lives on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/run/programs.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/control/adoption_server.h"
#include "comm/rendezvous/survey/surveyor.h"

namespace muster::run {

// The own report of a program in the group counts; its missing fields are its supervisor's. A program that has ended
// may have left a process behind that is in the group: it counts even if it is silent.
void Merge(rendezvous::RankReport& ours, const rendezvous::RankReport& program);

class ProgramReports {
 public:
  using Reply = std::function<void(rendezvous::Surveyor::Reports)>;

  // `programs` outlives it. `path`: PATH, for the tools that read stacks. `uses_store`: whether a rank's program
  // has.
  ProgramReports(net::EventLoop& loop, const Programs& programs, std::string path,
                 std::function<bool(int rank)> uses_store)
      : programs_(programs),
        path_(std::move(path)),
        uses_store_(std::move(uses_store)),
        stacks_(loop.mailbox()) {}
  ProgramReports(const ProgramReports&) = delete;
  ProgramReports& operator=(const ProgramReports&) = delete;

  // For the ranks in `own_ranks`. `server` may be null: no program can have joined yet.
  void Report(const rendezvous::Survey& survey, const std::vector<int>& own_ranks,
              rendezvous::AdoptionServer* server, Reply reply);

 private:
  rendezvous::Surveyor::Reports LookAtPrograms(const std::vector<int>& own_ranks) const;
  void AddStacks(const rendezvous::Survey& survey, rendezvous::Surveyor::Reports reports, Reply reply);

  const Programs& programs_;
  const std::string path_;
  const std::function<bool(int rank)> uses_store_;
  net::ThreadWorker stacks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::run

// A supervisor's answer about its programs to a status request: the process it started, and, if that program
// has joined the group itself, the program's own report. If stacks are requested, a thread of its own has
// them read.
//
// Lives on one EventLoop; nothing blocks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bootstrap/run/programs.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/store/store_users.h"
#include "comm/net/thread_worker.h"
#include "comm/rendezvous/control/adoption_server.h"
#include "comm/rendezvous/survey/surveyor.h"

namespace muster::run {

// The own report of a program in the group counts; its missing fields are its supervisor's. A program that has ended
// may have left a process behind that is in the group: it counts even if it is silent. One that forms the next group after
// it has left does not count.
void Merge(rendezvous::RankReport& ours, const rendezvous::RankReport& program);

class ProgramReports {
 public:
  using Reply = std::function<void(rendezvous::Surveyor::Reports)>;

  // All outlive it. `plan`: its PATH has the tools that read stacks.
  ProgramReports(net::EventLoop& loop, const SupervisorPlan& plan, const Programs& programs,
                 const store::StoreUsers& store_users)
      : plan_(plan), programs_(programs), store_users_(store_users), stacks_(loop.mailbox()) {}
  ProgramReports(const ProgramReports&) = delete;
  ProgramReports& operator=(const ProgramReports&) = delete;

  // For the ranks in `own_ranks`. `server` may be null: no program can have joined yet.
  void Report(const rendezvous::Survey& survey, const std::vector<int>& own_ranks,
              rendezvous::AdoptionServer* server, Reply reply);

 private:
  rendezvous::Surveyor::Reports LookAtPrograms(const std::vector<int>& own_ranks,
                                               const rendezvous::AdoptionServer* server) const;
  void AddStacks(const rendezvous::Survey& survey, rendezvous::Surveyor::Reports reports, Reply reply);

  const SupervisorPlan& plan_;
  const Programs& programs_;
  const store::StoreUsers& store_users_;
  net::ThreadWorker stacks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::run

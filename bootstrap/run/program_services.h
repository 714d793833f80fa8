// The parts through which this process's programs use their group: the socket at which they join it, the group's store, and
// the answers about them.
//
// Owns these parts, beside the supervisor's ControlPlane on its EventLoop; nothing blocks.
#pragma once

#include <memory>

#include "bootstrap/run/program_reports.h"
#include "bootstrap/run/programs.h"
#include "bootstrap/run/supervisor_plan.h"
#include "bootstrap/run/verdict/run_verdict.h"
#include "bootstrap/store/store_keeper.h"
#include "bootstrap/store/store_users.h"
#include "comm/net/event_loop.h"
#include "comm/rendezvous/control/adoption_server.h"
#include "comm/rendezvous/control/control_plane.h"

namespace muster::run {

class ProgramServices {
 public:
  // Of a process in a group. All outlive its use of the loop.
  ProgramServices(net::EventLoop& loop, SupervisorPlan& plan, const RunVerdict& verdict,
                  const Programs& programs);
  ProgramServices(const ProgramServices&) = delete;
  ProgramServices& operator=(const ProgramServices&) = delete;

  // The events that concern programs alone. This outlives the plane's use of the loop.
  void AddTo(rendezvous::ControlPlane::Events& events);
  // Programs join from now on; with rank 0 this process serves their store, and uses up `plan.store`. `plane` outlives
  // this. Error: kSystem.
  Status Open(rendezvous::ControlPlane& plane, rendezvous::AdoptionServer::OnLost on_lost);
  rendezvous::AdoptionServer* server() const { return server_.get(); }  // null before Open

 private:
  net::EventLoop& loop_;
  SupervisorPlan& plan_;
  const RunVerdict& verdict_;
  store::StoreUsers store_users_;
  ProgramReports reports_;
  std::unique_ptr<rendezvous::AdoptionServer> server_;
  std::unique_ptr<store::StoreKeeper> store_keeper_;  // rank 0's
};

}  // namespace muster::run

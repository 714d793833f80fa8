#include "bootstrap/run/program_services.h"

#include <utility>

namespace muster::run {

ProgramServices::ProgramServices(net::EventLoop& loop, SupervisorPlan& plan, const RunVerdict& verdict,
                                 const Programs& programs)
    : loop_(loop),
      plan_(plan),
      verdict_(verdict),
      store_users_(plan.join->uid, [&programs] { return programs.Running(); }),
      reports_(loop, plan, programs, store_users_) {}

void ProgramServices::AddTo(rendezvous::ControlPlane::Events& events) {
  events.whose = [this](const rendezvous::OwnerQuestion& question) { return store_users_.Look(question); };
  events.on_map_message = [this](int rank, ByteView message) {
    if (server_) server_->Deliver(rank, message);
  };
  events.on_job_end = [this](Deadline latest) {
    if (server_) server_->SendJobEnd(latest);
  };
  events.report_own = [this](const rendezvous::Survey& survey, ProgramReports::Reply reply) {
    reports_.Report(survey, verdict_.place().own_ranks, server_.get(), std::move(reply));
  };
}

Status ProgramServices::Open(rendezvous::ControlPlane& plane, rendezvous::AdoptionServer::OnLost on_lost) {
  MUSTER_TRY(server_, rendezvous::AdoptionServer::Open(loop_, plane,
                                                       {plan_.join->uid, plan_.configuration, plan_.job_key,
                                                        plan_.join->shared_directories},
                                                       std::move(on_lost)));
  if (!plan_.store) return {};
  const auto look = [this](const rendezvous::OwnerQuestion& question) { return store_users_.Look(question); };
  MUSTER_TRY(store_keeper_,
             store::StoreKeeper::Start({loop_, plane, look, MasterHost(verdict_.place().group.roster, 0),
                                        plan_.join->uid, plan_.config.liveness.straggler_after},
                                       std::move(*plan_.store)));
  return {};
}

}  // namespace muster::run

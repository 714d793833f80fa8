// What the ControlPlane tells about the ranks while all is well: to `muster status`, and to the log about
// stragglers.
#include "comm/log/log.h"
#include "comm/rendezvous/control/control_plane.h"

namespace muster::rendezvous {
namespace {

// More than that says nothing new.
constexpr Duration kBetweenLates = std::chrono::seconds(1);
constexpr uint64_t kSurveyMilliseconds = 2000;

}  // namespace

void ControlPlane::StartSurveys(std::unique_ptr<StatusServer> server) {
  surveyor_ = std::make_unique<Surveyor>(
      loop_, Surveyor::Surroundings{group_.roster, *children_, own_ranks_,
                                    [this](ByteView frame) {
                                      if (upstream_) upstream_->Send(frame);
                                      return upstream_ != nullptr;
                                    },
                                    [this](int rank) { return members_.HasLeft(rank); }, is_root_,
                                    [this](const Survey& survey, auto reply) { ReportOwn(survey, reply); }});
  server_ = std::move(server);
  if (server_) server_->SetAnswer([this](const Survey& survey, auto reply) { Answer(survey, reply); });
  if (!is_root_ || liveness_.straggler_after <= Duration::zero()) return;
  stragglers_ = std::make_unique<StragglerWatch>(
      loop_, group_.roster, liveness_.straggler_after,
      [this](StragglerWatch::OnReports then) {
        surveyor_->AskAll({0, kSurveyMilliseconds, {}},
                          [then = std::move(then)](const Surveyed& answer) { then(answer.reports); });
      },
      [this](const WaitingCall& call) { OnHopeless(call); });
}

void ControlPlane::ReportOwn(const Survey& survey,
                             const std::function<void(Surveyor::Reports)>& reply) const {
  if (events_.report_own) return events_.report_own(survey, reply);
  Surveyor::Reports reports;
  for (const int rank : own_ranks_) {
    RankReport& report = reports.emplace_back();
    report.rank = rank;
    report.state = RankState::kInGroup;
  }
  reply(reports);
}

void ControlPlane::Answer(const Survey& survey, const StatusServer::Reply& reply) {
  surveyor_->AskAll(survey, [this, reply](Surveyed answer) {
    const Roster& roster = group_.roster;
    GroupStatus status;
    status.job = job_;
    status.group_id = roster.group_id;
    status.failure = failure_ ? failure_->error.message : "";
    status.complete = answer.complete;
    status.root_rank = group_.root_rank;
    status.answering_rank = own_ranks_.front();
    for (const Roster::Node& node : roster.nodes) status.nodes.push_back(node.name);
    for (const Roster::Member& member : roster.members) status.node_of_rank.push_back(member.node);
    status.reports = std::move(answer.reports);
    reply(status);
  });
}

void ControlPlane::AskAll(Duration patience, Surveyor::OnAnswer then) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  surveyor_->AskAll({0, static_cast<uint64_t>(milliseconds), {}}, std::move(then));
}

void ControlPlane::NoteLate() {
  if (failure_) return;
  if (is_root_) {
    if (stragglers_) stragglers_->OnLate();
    return;
  }
  if (late_timer_ != 0) return;
  const auto earliest = late_sent_ + kBetweenLates;
  if (Clock::now() >= earliest) return SendLate();
  late_timer_ = loop_.At(earliest, [this] { SendLate(); });
}

void ControlPlane::SendLate() {
  late_timer_ = 0;
  late_sent_ = Clock::now();
  if (upstream_) upstream_->Send(EncodeBare(ControlType::kLate));
}

void ControlPlane::OnHopeless(const WaitingCall& call) {
  TakeFailure({{Code::kPeerLost,
                fmt::format("{} left the group before {}", DescribeRanks(group_.roster, call.left),
                            ShortName(call.call)),
                ""},
               call.left.front(),
               -1,
               ""});
}

}  // namespace muster::rendezvous

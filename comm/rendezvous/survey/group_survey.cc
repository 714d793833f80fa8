#include "comm/rendezvous/survey/group_survey.h"

#include <utility>

namespace muster::rendezvous {
namespace {

// More frequent messages add nothing.
constexpr Duration kBetweenLates = std::chrono::seconds(1);
constexpr Duration kNever = std::chrono::hours(24 * 365);

}  // namespace

GroupSurvey::GroupSurvey(net::EventLoop& loop, Params params)
    : loop_(loop), params_(std::move(params)), surveyor_(loop, params_.at) {
  if (params_.server)
    params_.server->SetAnswer([this](const Survey& survey, auto reply) { Answer(survey, reply); });
  if (!params_.at.is_root) return;
  stragglers_ = std::make_unique<StragglerWatch>(
      loop_, params_.at.roster, params_.straggler_after > Duration::zero() ? params_.straggler_after : kNever,
      [this](StragglerWatch::OnReports then) {
        surveyor_.AskAll({0, kSurveyMilliseconds, {}},
                         [then = std::move(then)](const Surveyed& answer) { then(answer.reports); });
      },
      params_.on_hopeless);
}

void GroupSurvey::Stop() {
  params_.server.reset();
  stragglers_.reset();
}

void GroupSurvey::Answer(const Survey& survey, const StatusServer::Reply& reply) {
  surveyor_.AskAll(survey, [this, reply](Surveyed answer) {
    const Roster& roster = params_.at.roster;
    GroupStatus status;
    status.job = params_.job;
    status.group_id = roster.group_id;
    if (const auto& failure = params_.failure()) status.failure = failure->error.message;
    status.complete = answer.complete;
    status.root_rank = params_.root_rank;
    status.answering_rank = params_.at.own_ranks.front();
    for (const Roster::Node& node : roster.nodes) status.nodes.push_back(node.name);
    status.node_of_rank = roster.PlacesOfAll().nodes;
    status.reports = std::move(answer.reports);
    status.maps = std::move(answer.maps);
    reply(status);
  });
}

void GroupSurvey::AskAll(Duration patience, Surveyor::OnAnswer then) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  surveyor_.AskAll({0, static_cast<uint64_t>(milliseconds), {}}, std::move(then));
}

void GroupSurvey::NoteLate() {
  if (params_.failure()) return;
  if (stragglers_) return stragglers_->OnLate();
  if (params_.at.is_root || late_timer_.pending()) return;
  const auto earliest = late_sent_ + kBetweenLates;
  if (Clock::now() >= earliest) return SendLate();
  late_timer_ = loop_.At(earliest, [this] { SendLate(); });
}

void GroupSurvey::SendLate() {
  late_sent_ = Clock::now();
  params_.at.send_up(EncodeBare(ControlType::kLate));
}

}  // namespace muster::rendezvous

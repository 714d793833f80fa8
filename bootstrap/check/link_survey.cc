#include "bootstrap/check/link_survey.h"

#include <algorithm>
#include <utility>

#include "comm/base/lists.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"
#include "comm/socket/probe/reach.h"

namespace muster::check {
namespace {

constexpr Duration kFirstWord = std::chrono::seconds(2);
constexpr Duration kNextWord = std::chrono::seconds(5);
// The node may still be busy with nodes that are slow or do not answer.
constexpr Duration kPeerComes = std::chrono::seconds(60);

}  // namespace

int SpeakerOf(const Roster& roster, int node) { return roster.RanksOn(node).front(); }

int RoundsOf(int players) { return players < 2 ? 0 : players - 1 + players % 2; }

// In round r two players play if their numbers add up to r, modulo the number of rounds. A player paired with
// itself plays the last player, or rests if the number of players is odd.
std::optional<int> OpponentOf(int player, int round, int players) {
  const int rounds = RoundsOf(players);
  const int last = rounds;
  int opponent = 0;
  if (player == last) {
    // Half of `round`: (rounds + 1) / 2 is the inverse of 2.
    opponent = static_cast<int>(static_cast<long long>(round) * ((rounds + 1) / 2) % rounds);
  } else {
    opponent = (round - player % rounds + rounds) % rounds;
    if (opponent == player) opponent = last;
  }
  if (opponent >= players) return std::nullopt;
  return opponent;
}

std::vector<int> SomeRounds(int players, int most) {
  const int rounds = RoundsOf(players);
  const int taken = std::min(rounds, most);
  std::vector<int> some;
  for (int i = 0; i < taken; ++i) {
    some.push_back(static_cast<int>(static_cast<long long>(i) * rounds / taken));
  }
  return some;
}

LinkSurvey::LinkSurvey(Group& group, std::unique_ptr<socket::SocketEndpoint> endpoint,
                       std::vector<socket::EndpointAddress> speakers, const LinkSurveyOptions& options)
    : group_(group),
      endpoint_(std::move(endpoint)),
      speakers_(std::move(speakers)),
      options_(options),
      node_(group.roster().NodeOf(group.rank())),
      links_(speakers_.size()),
      tell_(Deadline::After(kFirstWord)) {}

std::vector<LinkSurvey::Meeting> LinkSurvey::Meetings() const {
  const int nodes = static_cast<int>(speakers_.size());
  const std::vector<int> measured = SomeRounds(nodes, options_.most_rounds);
  std::vector<Meeting> meetings;
  for (int round = 0; round < RoundsOf(nodes); ++round) {
    const auto other = OpponentOf(node_, round, nodes);
    if (other) meetings.push_back({*other, std::ranges::binary_search(measured, round)});
  }
  return meetings;
}

void LinkSurvey::ReportMissingRanks(const std::vector<int>& ranks) {
  if (node_ != 0 || ranks.empty() || !tell_.Expired()) return;
  tell_ = Deadline::After(kNextWord);
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(group_.roster().NodeName(rank));
  LogInfo("connecting, {}: {}/{} nodes; not yet both ways with {}", FormatSeconds(Clock::now() - began_),
          speakers_.size() - 1 - ranks.size(), speakers_.size() - 1, FormatNodes(names));
}

Result<NodeLinks> LinkSurvey::Connect() {
  const std::vector<Meeting> meetings = Meetings();
  std::vector<socket::ReachPeer> peers;
  for (const Meeting& meeting : meetings) {
    peers.push_back({SpeakerOf(group_.roster(), meeting.node), speakers_[static_cast<size_t>(meeting.node)],
                     meeting.measured});
  }
  socket::ReachOptions reach;
  reach.connect = options_.connect;
  reach.progress = [this](const std::vector<int>& ranks) { ReportMissingRanks(ranks); };
  MUSTER_TRY(std::vector<socket::Reached> reached, socket::ReachAll(group_, *endpoint_, peers, reach));
  NodeLinks links;
  for (size_t i = 0; i < reached.size(); ++i) {
    const int other = meetings[i].node;
    if (!reached[i].failure.empty()) links.troubles.push_back({other, std::move(reached[i].failure)});
    links_[static_cast<size_t>(other)] = std::move(reached[i].link);
  }
  return links;
}

Status LinkSurvey::Measure(NodeLinks& links) {
  std::vector<socket::LinkFigures> figures;
  for (const Meeting& meeting : Meetings()) {
    UniqueFd& link = links_[static_cast<size_t>(meeting.node)];
    if (!link) continue;
    socket::MeasureOptions options;
    options.bandwidth = options_.bandwidth;
    options.peer_comes_by = Deadline::After(kPeerComes);
    options.stop_fd = group_.failure_fd();
    const bool leader = SpeakerOf(group_.roster(), meeting.node) > group_.rank();
    Result<socket::LinkFigures> measured = socket::MeasureLink(link.get(), leader, options);
    if (auto failure = group_.failure()) return Fail(*std::move(failure));
    if (measured) {
      figures.push_back(*measured);
      continue;
    }
    links.troubles.push_back({meeting.node, ToString(measured.error())});
    link.Reset();
  }
  links.measured = static_cast<int32_t>(figures.size());
  links.median = MedianOf(figures);
  return {};
}

}  // namespace muster::check

#include "bootstrap/check/collect.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bootstrap/check/findings/slow_nodes.h"
#include "bootstrap/check/gather.h"
#include "bootstrap/check/link_survey.h"
#include "comm/base/fields.h"

namespace muster::check {
namespace {

constexpr Duration kGpuPatience = std::chrono::seconds(30);

class Collector {
 public:
  Collector(Group& group, Communicator& communicator, const CollectOptions& options)
      : group_(group), communicator_(communicator), options_(options), roster_(group.roster()) {
    evidence_.roster = roster_;
    evidence_.bandwidth = options.bandwidth;
  }

  Result<Evidence> Run() {
    const auto began = Clock::now();
    MUSTER_CHECK(SendFacts());
    if (SeveralNodes()) MUSTER_CHECK(LookAtLinks());
    if (!options_.gpus.empty()) MUSTER_CHECK(CheckGpus());
    MUSTER_CHECK(TryCollectives());
    evidence_.took = Clock::now() - began;
    return std::move(evidence_);
  }

 private:
  bool SeveralNodes() const { return roster_.nodes.size() > 1; }
  int Node() const { return roster_.NodeOf(group_.rank()); }
  bool IsNodeSpeaker() const { return SpeakerOf(roster_, Node()) == group_.rank(); }

  Result<std::vector<Bytes>> KeyedAllGather(std::string_view name, ByteView mine) {
    return group_.KeyedAllGather(name, mine, Deadline::After(options_.timeouts.init));
  }

  Status SendFacts() {
    MUSTER_TRY(const RankFacts facts, FactsOfThisProcess(options_.visible_devices));
    FieldWriter writer;
    writer(facts);
    if (IsNodeSpeaker()) {
      writer(FactsOfThisNode(roster_.nodes[static_cast<size_t>(Node())].addresses));
      if (SeveralNodes()) {
        MUSTER_TRY(endpoint_, socket::SocketEndpoint::Open());
        writer(endpoint_->payload());
      }
    }
    MUSTER_TRY(const auto received, KeyedAllGather("check: facts", writer.Take()));
    evidence_.nodes.resize(roster_.nodes.size());
    speakers_.resize(roster_.nodes.size());
    for (int rank = 0; rank < roster_.size(); ++rank)
      MUSTER_CHECK(DecodeFacts(rank, received[static_cast<size_t>(rank)]));
    return {};
  }

  Status DecodeFacts(int rank, ByteView received) {
    FieldReader reader(received);
    reader(evidence_.ranks.emplace_back());
    const auto node = static_cast<size_t>(roster_.NodeOf(rank));
    if (SpeakerOf(roster_, roster_.NodeOf(rank)) == rank) {
      reader(evidence_.nodes[node]);
      if (SeveralNodes()) {
        ByteView endpoint;
        reader(endpoint);
        MUSTER_TRY(speakers_[node], socket::DecodeEndpoint(endpoint, roster_, rank));
      }
    }
    return reader.Finish("facts of " + DescribeRank(roster_, rank));
  }

  Status LookAtLinks() {
    std::optional<LinkSurvey> survey;
    NodeLinks mine;
    if (IsNodeSpeaker()) {
      LinkSurveyOptions options;
      options.bandwidth = options_.bandwidth;
      options.connect = std::min<Duration>(options.connect, options_.timeouts.connect);
      survey.emplace(group_, std::move(endpoint_), speakers_, options);
      MUSTER_TRY(mine, survey->Connect());
      MUSTER_CHECK(survey->Measure(mine));
    }
    MUSTER_TRY(evidence_.links, SendLinks("check: links", mine));
    // A node that was busy for a moment is not slow.
    if (FindSlowNodes(evidence_.links).empty()) return {};
    NodeLinks second;
    if (survey) MUSTER_CHECK(survey->Measure(second));
    MUSTER_TRY(evidence_.again, SendLinks("check: links again", second));
    return {};
  }

  Result<std::vector<NodeLinks>> SendLinks(std::string_view name, const NodeLinks& mine) {
    MUSTER_TRY(const auto received, KeyedAllGather(name, IsNodeSpeaker() ? EncodeFields(mine) : Bytes()));
    std::vector<NodeLinks> links;
    const int nodes = static_cast<int>(roster_.nodes.size());
    for (int node = 0; node < nodes; ++node) {
      const int speaker = SpeakerOf(roster_, node);
      MUSTER_TRY(links.emplace_back(), DecodeNodeLinks(received[static_cast<size_t>(speaker)], nodes,
                                                       "figures of " + DescribeRank(roster_, speaker)));
    }
    return links;
  }

  // All ranks at a time: GPUs that share a node's power are measured under load.
  Status CheckGpus() {
    const GpuToCheck& gpu = options_.gpus[static_cast<size_t>(group_.rank())];
    GpuFacts mine;
    if (!gpu.uuid.empty()) {
      mine = CheckGpu(gpu, options_.bandwidth, std::min<Duration>(kGpuPatience, options_.timeouts.init / 2),
                      group_.failure_fd());
    }
    MUSTER_TRY(const auto received, KeyedAllGather("check: gpus", EncodeFields(mine)));
    for (int rank = 0; rank < roster_.size(); ++rank) {
      FieldReader reader(received[static_cast<size_t>(rank)]);
      reader(evidence_.gpus.emplace_back());
      MUSTER_CHECK(reader.Finish("GPU of " + DescribeRank(roster_, rank)));
    }
    return {};
  }

  bool AllConnected() const {
    const auto fine = [](const NodeLinks& links) { return links.troubles.empty(); };
    return std::ranges::all_of(evidence_.links, fine) && std::ranges::all_of(evidence_.again, fine);
  }

  // Not if a pair of nodes cannot connect: it would break the communicator, for the same reason, later.
  Status TryCollectives() {
    if (!AllConnected()) return {};
    for (Trial& trial : AllTrials()) evidence_.trials.push_back(std::move(trial.name));
    auto wrong = RunTrials(communicator_);
    if (!wrong) {
      evidence_.broken = std::move(wrong).error();
      return {};
    }
    FieldWriter writer;
    for (const WrongResult& one : *wrong) writer(one.trial, one.what);
    MUSTER_TRY(const auto received, KeyedAllGather("check: results", writer.Take()));
    for (int rank = 0; rank < roster_.size(); ++rank)
      MUSTER_CHECK(DecodeResults(rank, received[static_cast<size_t>(rank)]));
    return {};
  }

  Status DecodeResults(int rank, ByteView received) {
    FieldReader reader(received);
    while (reader.ok() && reader.remaining() > 0) {
      WrongResult& wrong = evidence_.wrong.emplace_back(WrongOnRank{rank, {}}).result;
      reader(wrong.trial, wrong.what);
      reader.Require(wrong.trial >= 0 && std::cmp_less(wrong.trial, evidence_.trials.size()));
    }
    return reader.Finish("results of " + DescribeRank(roster_, rank));
  }

  Group& group_;
  Communicator& communicator_;
  const CollectOptions& options_;
  const Roster& roster_;
  std::unique_ptr<socket::SocketEndpoint> endpoint_;
  std::vector<socket::EndpointAddress> speakers_;
  Evidence evidence_;
};

}  // namespace

Result<Evidence> CollectEvidence(Group& group, Communicator& communicator, const CollectOptions& options) {
  return Collector(group, communicator, options).Run();
}

}  // namespace muster::check

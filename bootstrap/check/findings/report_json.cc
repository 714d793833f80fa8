#include <nlohmann/json.hpp>

#include "bootstrap/check/findings/report.h"
#include "comm/base/lists.h"

namespace muster::check {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Json Limit(uint64_t value) { return value == kUnlimited ? Json("unlimited") : Json(value); }

template <typename Field>
uint64_t Least(const Evidence& evidence, const std::vector<int>& ranks, Field field) {
  uint64_t least = kUnlimited;
  for (const int rank : ranks) {
    least = std::min<uint64_t>(least, evidence.ranks[static_cast<size_t>(rank)].*field);
  }
  return least;
}

Json Rate(uint64_t value) { return value == 0 ? Json(nullptr) : Json(value); }

Json LinksJson(const NodeLinks& links) {
  if (links.measured == 0) return nullptr;
  const socket::LinkFigures& median = links.median;
  return {{"measured", links.measured},
          {"round_trip_us", static_cast<double>(median.round_trip_ns) / 1e3},
          {"out_bytes_per_s", Rate(median.out_bytes_per_s)},
          {"in_bytes_per_s", Rate(median.in_bytes_per_s)},
          {"clock_ahead_ms", static_cast<double>(median.clock_ahead_ns) / 1e6}};
}

Json Text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json NodeJson(const Evidence& evidence, size_t index) {
  const NodeFacts& facts = evidence.nodes[index];
  std::vector<int> ranks = evidence.roster.RanksOn(static_cast<int>(index));
  std::ranges::sort(ranks);
  const std::vector<NodeLinks>& links = LinksToShow(evidence);
  return {{"node", evidence.roster.nodes[index].name},
          {"ranks", FormatRanges(ranks)},
          {"addresses", evidence.roster.nodes[index].addresses},
          {"interface", Text(facts.interface)},
          {"mtu", facts.mtu == 0 ? Json(nullptr) : Json(facts.mtu)},
          {"links", links.empty() ? Json(nullptr) : LinksJson(links[index])},
          {"open_files", Limit(Least(evidence, ranks, &RankFacts::open_files))},
          {"open_files_most", Limit(Least(evidence, ranks, &RankFacts::open_files_most))},
          {"locked_memory_bytes", Limit(Least(evidence, ranks, &RankFacts::locked_memory))},
          {"cpus", Least(evidence, ranks, &RankFacts::cpus)},
          {"shm_free_bytes", facts.shm_free},
          {"shm_total_bytes", facts.shm_total},
          {"gpus", facts.gpus},
          {"gpu", Text(facts.gpu)},
          {"gpu_problem", Text(facts.gpu_problem)},
          {"driver", Text(facts.driver)},
          {"cuda", Text(facts.cuda)},
          {"nccl", Text(facts.nccl)},
          {"infiniband", facts.infiniband},
          {"muster", facts.muster},
          {"kernel", facts.kernel},
          {"libc", facts.libc}};
}

Json Count(uint64_t value) { return value == kUnknown ? Json(nullptr) : Json(value); }

Json GpusJson(const Evidence& evidence) {
  Json gpus = Json::array();
  for (size_t rank = 0; rank < evidence.gpus.size(); ++rank) {
    const GpuFacts& gpu = evidence.gpus[rank];
    gpus.push_back({{"rank", rank},
                    {"node", evidence.roster.NodeName(static_cast<int>(rank))},
                    {"uuid", gpu.uuid},
                    {"name", gpu.name},
                    {"problem", Text(gpu.problem)},
                    {"words", gpu.words},
                    {"wrong_words", gpu.wrong_words},
                    {"elements", gpu.elements},
                    {"wrong_elements", gpu.wrong_elements},
                    {"write_bytes_per_s", Rate(gpu.write_bytes_per_s)},
                    {"read_bytes_per_s", Rate(gpu.read_bytes_per_s)},
                    {"product_flops", Rate(gpu.product_flops)},
                    {"corrected_errors", Count(gpu.errors.corrected)},
                    {"uncorrected_errors", Count(gpu.errors.uncorrected)},
                    {"remap_pending", gpu.errors.remap_pending},
                    {"remap_failed", gpu.errors.remap_failed},
                    {"errors_problem", Text(gpu.errors_problem)}});
  }
  return gpus;
}

Json TrialsJson(const Evidence& evidence) {
  Json trials = Json::array();
  for (size_t i = 0; i < evidence.trials.size(); ++i) {
    Json wrong = Json::array();
    for (const WrongOnRank& one : evidence.wrong) {
      if (static_cast<size_t>(one.result.trial) != i) continue;
      wrong.push_back(
          {{"rank", one.rank}, {"node", evidence.roster.NodeName(one.rank)}, {"message", one.result.what}});
    }
    // It is unknown how far the ranks came before the failure.
    const Json right = evidence.broken ? Json(nullptr) : Json(wrong.empty());
    trials.push_back({{"trial", evidence.trials[i]}, {"right", right}, {"wrong", std::move(wrong)}});
  }
  return trials;
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"code", finding.code},
                    {"message", finding.message},
                    {"hint", finding.hint},
                    {"nodes", finding.nodes}});
  }
  return list;
}

}  // namespace

std::string CheckJson(const Evidence& evidence, const Verdict& verdict) {
  Json nodes = Json::array();
  for (size_t i = 0; i < evidence.roster.nodes.size(); ++i) nodes.push_back(NodeJson(evidence, i));
  const Json report = {{"passed", verdict.exit_status == 0},
                       {"exit_status", verdict.exit_status},
                       {"launcher", evidence.launcher},
                       {"job", evidence.job.empty() ? Json(nullptr) : Json(evidence.job)},
                       {"world_size", evidence.roster.size()},
                       {"num_nodes", evidence.roster.nodes.size()},
                       {"formed_s", Seconds(evidence.formed_in)},
                       {"took_s", Seconds(evidence.took)},
                       {"failures", FindingsJson(verdict.failures)},
                       {"warnings", FindingsJson(verdict.warnings)},
                       {"exclude", verdict.exclude},
                       {"nodes", std::move(nodes)},
                       {"gpus", GpusJson(evidence)},
                       {"collectives", TrialsJson(evidence)}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::check

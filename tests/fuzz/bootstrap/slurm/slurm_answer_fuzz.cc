// The output of a program called muster-slurm: it is refused with a sentence, or its layout is of the very
// step of the request.
#include "bootstrap/slurm/exact_layout.h"
#include "bootstrap/slurm/slurm_answer.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

const Placement kKnown = {{{"a", 2}, {"b", 1}}, {}};

void One(ByteView input) {
  const Result<slurm::SlurmAnswer> answer = slurm::ParseSlurmAnswer(AsText(input));
  if (!answer) {
    Require(answer.error().message.starts_with("muster-slurm printed "), "{}", answer.error().message);
    return;
  }
  for (const auto& [node, address] : answer->addresses) Require(!address.empty(), "{} has an address", node);
  const auto exact = slurm::ExactLayout(kKnown, answer->layouts, "b", {1});
  if (!exact) return;
  Require(exact->nodes == kKnown.nodes, "the nodes are those that were known");
  Require(exact->node_of_rank == std::vector<int>({0, 1, 0}), "the ranks are where they can only be");
}

std::vector<Bytes> Seeds() {
  return {
      ToBytes(R"({"slurm":"22.5.8","layouts":[[{"node":"a","tasks":[0,2]},{"node":"b","tasks":[1]}]],)"
              R"("end_time":1795164010,"addresses":{"a":"198.18.1.1"},"problems":["x"]})"),
      ToBytes(
          R"({"layouts":[null,[{"node":"a","tasks":[0]}],[{"node":"b","tasks":[0]},{"node":"a","tasks":[1]}]]})"),
      ToBytes("{}")};
}

std::vector<std::string> Words() {
  return {R"("layouts":)",
          R"("node":"a")",
          R"("tasks":[0])",
          R"("end_time":)",
          R"("addresses":)",
          "null",
          "[",
          "]",
          "{",
          "}",
          ",",
          "-1",
          "1e99",
          "16777216"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

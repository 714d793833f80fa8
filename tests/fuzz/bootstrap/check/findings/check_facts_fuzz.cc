// The facts that other ranks send to `muster check`: of themselves, their nodes and their connections.
// Decoded facts are the same again when they have been encoded.
#include "bootstrap/check/findings/facts.h"
#include "bootstrap/check/findings/links.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr int kNodes = 3;

template <typename Value>
void ReadAgain(const Result<Value>& value, Result<Value> (*read)(ByteView)) {
  if (value) Require(read(EncodeFields(*value)) == value, "it is read back as it was written");
}

template <typename Value>
Result<Value> ReadFacts(ByteView input) {
  return DecodeFields<Value>(input, "answer");
}

Result<check::NodeLinks> ReadLinks(ByteView input) { return check::DecodeNodeLinks(input, kNodes, "answer"); }

void One(ByteView input) {
  ReadAgain(ReadFacts<check::RankFacts>(input), ReadFacts<check::RankFacts>);
  ReadAgain(ReadFacts<check::NodeFacts>(input), ReadFacts<check::NodeFacts>);
  const Result<check::NodeLinks> links = ReadLinks(input);
  ReadAgain(links, ReadLinks);
  if (!links) return;
  for (const check::LinkTrouble& trouble : links->troubles) {
    Require(trouble.node >= 0 && trouble.node < kNodes, "{} is a node", trouble.node);
  }
}

std::vector<Bytes> Seeds() {
  check::RankFacts rank{1024, 4096, check::kUnlimited, 8, "0,1"};
  check::RankFacts without = rank;
  without.visible_devices.reset();
  check::NodeFacts node;
  node.muster = "0.1.0";
  node.interface = "ib0";
  node.shm_free = node.shm_total = 1 << 30;
  node.infiniband = true;
  check::NodeLinks links;
  links.troubles = {{2, "10.1.0.2:40001: Connection refused"}};
  links.measured = 2;
  return {EncodeFields(rank), EncodeFields(without), EncodeFields(node), EncodeFields(check::NodeFacts{}),
          EncodeFields(links)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds}; }

}  // namespace muster::fuzz

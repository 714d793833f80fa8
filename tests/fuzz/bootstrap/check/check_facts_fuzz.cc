// What other ranks tell `muster check` of themselves, their nodes and their connections. Whatever is read is
// read as the same again when it has been written.
#include "bootstrap/check/findings/facts.h"
#include "bootstrap/check/findings/links.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr int kNodes = 3;

template <typename Value>
Bytes Written(const Value& value) {
  WireWriter writer;
  check::Write(writer, value);
  return writer.Take();
}

template <typename Read>
void ReadAgain(ByteView input, Read read) {
  WireReader reader(input);
  const auto value = read(reader);
  if (!reader.Finish("answer")) return;
  const Bytes written = Written(value);
  WireReader again(written);
  Require(read(again) == value && again.Finish("answer"), "it is read back as it was written");
}

void One(ByteView input) {
  ReadAgain(input, check::ReadRankFacts);
  ReadAgain(input, check::ReadNodeFacts);
  ReadAgain(input, [](WireReader& reader) { return check::ReadNodeLinks(reader, kNodes); });
  WireReader reader(input);
  const check::NodeLinks links = check::ReadNodeLinks(reader, kNodes);
  if (!reader.ok()) return;
  for (const check::LinkTrouble& trouble : links.troubles) {
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
  return {Written(rank), Written(without), Written(node), Written(check::NodeFacts{}), Written(links)};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds}; }

}  // namespace muster::fuzz

#include "bootstrap/check/findings/facts.h"

namespace muster::check {

void Write(WireWriter& writer, const RankFacts& facts) {
  writer.U64(facts.open_files);
  writer.U64(facts.open_files_most);
  writer.U64(facts.locked_memory);
  writer.U32(facts.cpus);
  writer.U8(facts.visible_devices ? 1 : 0);
  writer.String(facts.visible_devices.value_or(""));
}

RankFacts ReadRankFacts(WireReader& reader) {
  RankFacts facts;
  facts.open_files = reader.U64();
  facts.open_files_most = reader.U64();
  facts.locked_memory = reader.U64();
  facts.cpus = reader.U32();
  const bool has_devices = reader.U8() != 0;
  std::string devices = reader.String();
  if (has_devices) facts.visible_devices = std::move(devices);
  return facts;
}

void Write(WireWriter& writer, const NodeFacts& facts) {
  writer.String(facts.muster);
  writer.String(facts.kernel);
  writer.String(facts.libc);
  writer.String(facts.interface);
  writer.U32(facts.mtu);
  writer.U64(facts.shm_free);
  writer.U64(facts.shm_total);
  writer.U32(facts.gpus);
  writer.U8(facts.infiniband ? 1 : 0);
}

NodeFacts ReadNodeFacts(WireReader& reader) {
  NodeFacts facts;
  facts.muster = reader.String();
  facts.kernel = reader.String();
  facts.libc = reader.String();
  facts.interface = reader.String();
  facts.mtu = reader.U32();
  facts.shm_free = reader.U64();
  facts.shm_total = reader.U64();
  facts.gpus = reader.U32();
  facts.infiniband = reader.U8() != 0;
  return facts;
}

}  // namespace muster::check

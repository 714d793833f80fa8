#include "comm/nccl/devices/gpu_hello.h"

#include "comm/base/wire.h"

namespace muster::nccl {
namespace {

// Sentences; longer ones are cut.
constexpr size_t kMostText = 2048;

}  // namespace

Bytes EncodeGpuHello(const GpuHello& hello) {
  WireWriter writer;
  const auto text = [&](const std::string& value) {
    writer.String(std::string_view(value).substr(0, kMostText));
  };
  text(hello.verdict.problem);
  text(hello.verdict.uuid);
  text(hello.verdict.name);
  writer.U32(static_cast<uint32_t>(hello.verdict.ordinal));
  writer.U8(hello.verdict.peers_hidden ? 1 : 0);
  text(hello.refusal);
  text(hello.hint);
  text(hello.driver);
  text(hello.cuda);
  text(hello.nccl);
  return writer.Take();
}

Result<GpuHello> DecodeGpuHello(ByteView bytes) {
  WireReader reader(bytes);
  const auto text = [&] {
    std::string value = reader.String();
    if (value.size() > kMostText) reader.MarkBad();
    return value;
  };
  GpuHello hello;
  hello.verdict.problem = text();
  hello.verdict.uuid = text();
  hello.verdict.name = text();
  hello.verdict.ordinal = static_cast<int>(reader.U32());
  const uint8_t peers_hidden = reader.U8();
  if (peers_hidden > 1) reader.MarkBad();
  hello.verdict.peers_hidden = peers_hidden == 1;
  hello.refusal = text();
  hello.hint = text();
  hello.driver = text();
  hello.cuda = text();
  hello.nccl = text();
  MUSTER_CHECK(reader.Finish("GPU hello"));
  return hello;
}

}  // namespace muster::nccl

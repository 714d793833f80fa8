#include "deploy/examples/share.h"

#include "comm/base/wire.h"

namespace muster::examples {

Bytes EncodeShare(size_t first_row, std::span<const uint8_t> predictions) {
  WireWriter writer;
  writer.U64(first_row);
  writer.Blob(predictions);
  return writer.Take();
}

Result<Assembled> AssembleShares(const Roster& roster, size_t rows, const std::vector<Bytes>& parts) {
  Assembled all;
  for (const Bytes& part : parts) {
    const std::string sender = DescribeRank(roster, static_cast<int>(all.shares.size()));
    WireReader reader(part);
    const uint64_t first = reader.U64();
    const ByteView labels = reader.Blob();
    MUSTER_CHECK(reader.Finish("predictions of " + sender));
    if (first != all.predictions.size()) {
      return Fail(Code::kDisagreement, "{} evaluated from row {} on where row {} was its first", sender,
                  first, all.predictions.size());
    }
    all.predictions.insert(all.predictions.end(), labels.begin(), labels.end());
    all.shares.push_back({first, all.predictions.size()});
  }
  if (all.predictions.size() != rows) {
    return Fail(Code::kDisagreement, "{} ranks sent {} predictions for {} rows", parts.size(),
                all.predictions.size(), rows);
  }
  return all;
}

}  // namespace muster::examples

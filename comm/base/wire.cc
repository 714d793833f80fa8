#include "comm/base/wire.h"

namespace muster {

void WireWriter::Blob(ByteView bytes) {
  U32(static_cast<uint32_t>(bytes.size()));
  Raw(bytes);
}

void WireWriter::Raw(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

ByteView WireReader::Blob() { return Raw(U32()); }

ByteView WireReader::Raw(size_t length) {
  if (!ok_ || length > rest_.size()) {
    ok_ = false;
    return {};
  }
  const ByteView taken = rest_.first(length);
  rest_ = rest_.subspan(length);
  return taken;
}

uint32_t WireReader::Count(size_t item_bytes) {
  const uint32_t count = U32();
  if (count * static_cast<uint64_t>(item_bytes) > rest_.size()) {
    ok_ = false;
    return 0;
  }
  return count;
}

Status WireReader::Finish(std::string_view what) const {
  if (!ok_) return Fail(Code::kInternal, "malformed {}: it ends too early", what);
  if (!rest_.empty()) return Fail(Code::kInternal, "malformed {}: {} bytes too many", what, rest_.size());
  return {};
}

}  // namespace muster

// The collectives of muster.h on byte strings whose length differs by rank.
#include "bootstrap/c/error.h"
#include "bootstrap/c/handles.h"

namespace muster::c {
namespace {

Result<ByteView> ViewOf(const void* data, size_t size) {
  if (data == nullptr && size > 0) return Fail(Code::kUsage, "data is null and should have {} bytes", size);
  return ByteView(static_cast<const uint8_t*>(data), size);
}

// `call` gives the parts; they are the caller's only when all went well.
template <typename Call>
muster_error* MakeParts(muster_comm* comm, muster_parts** parts, const Call& call) {
  return Guard([&]() -> Status {
    if (parts == nullptr) return Fail(Code::kUsage, "parts is null");
    *parts = nullptr;
    MUSTER_TRY(const InUse communicator, Alive(comm));
    auto made = std::make_unique<muster_parts>();
    MUSTER_TRY(made->parts, call(*communicator));
    *parts = made.release();
    return {};
  });
}

}  // namespace
}  // namespace muster::c

using muster::Bytes;
using muster::ByteView;
using muster::Communicator;
using muster::Result;
using muster::c::MakeParts;
using muster::c::ViewOf;
using muster::c::Within;

size_t muster_parts_count(const muster_parts* parts) { return parts == nullptr ? 0 : parts->parts.size(); }

size_t muster_parts_size(const muster_parts* parts, size_t index) {
  return index < muster_parts_count(parts) ? parts->parts[index].size() : 0;
}

const void* muster_parts_data(const muster_parts* parts, size_t index) {
  return index < muster_parts_count(parts) ? parts->parts[index].data() : nullptr;
}

void muster_parts_free(muster_parts* parts) { delete parts; }

muster_error* muster_gather_bytes(muster_comm* comm, const void* data, size_t size, int root,
                                  int64_t timeout_ns, muster_parts** parts) {
  return MakeParts(comm, parts, [&](Communicator& communicator) -> Result<std::vector<Bytes>> {
    MUSTER_TRY(const ByteView mine, ViewOf(data, size));
    return communicator.GatherBytes(mine, root, Within(timeout_ns));
  });
}

muster_error* muster_all_gather_bytes(muster_comm* comm, const void* data, size_t size, int64_t timeout_ns,
                                      muster_parts** parts) {
  return MakeParts(comm, parts, [&](Communicator& communicator) -> Result<std::vector<Bytes>> {
    MUSTER_TRY(const ByteView mine, ViewOf(data, size));
    return communicator.AllGatherBytes(mine, Within(timeout_ns));
  });
}

muster_error* muster_broadcast_bytes(muster_comm* comm, const void* data, size_t size, int root,
                                     int64_t timeout_ns, muster_parts** parts) {
  return MakeParts(comm, parts, [&](Communicator& communicator) -> Result<std::vector<Bytes>> {
    ByteView mine;
    if (communicator.rank() == root) {
      MUSTER_TRY(mine, ViewOf(data, size));
    }
    MUSTER_TRY(Bytes root_bytes, communicator.BroadcastBytes(mine, root, Within(timeout_ns)));
    std::vector<Bytes> one;
    one.push_back(std::move(root_bytes));
    return one;
  });
}

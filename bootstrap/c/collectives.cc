// The collectives of muster.h: arguments of C become those of Communicator.
#include "bootstrap/c/error.h"
#include "bootstrap/c/handles.h"

namespace muster::c {
namespace {

// The values of muster.h are those of the enumerations of comm.
static_assert(MUSTER_I8 == static_cast<int>(DataType::kI8) && MUSTER_F64 == static_cast<int>(DataType::kF64));
static_assert(MUSTER_SUM == static_cast<int>(ReduceOp::kSum) &&
              MUSTER_AVG == static_cast<int>(ReduceOp::kAvg));

// A communicator, and buffers of elements of one type for it.
struct Elements {
  InUse comm;
  DataType type = DataType::kU8;
  size_t count = 0;

  ConstBuffer From(const void* data) const { return {data, count, type}; }
  Buffer To(void* data) const { return {data, count, type}; }
  ConstBuffer AllFrom(const void* data) const { return {data, all(), type}; }
  Buffer AllTo(void* data) const { return {data, all(), type}; }

 private:
  size_t all() const { return count * static_cast<size_t>(comm->size()); }
};

Result<Elements> MakeElements(muster_comm* comm, size_t count, muster_type type) {
  Elements elements;
  elements.count = count;
  MUSTER_TRY(elements.comm, Alive(comm));
  if (type > MUSTER_F64) return Fail(Code::kUsage, "{} is no muster_type", static_cast<int>(type));
  elements.type = static_cast<DataType>(type);
  // Elements of all ranks together must be countable.
  if (count >
      static_cast<size_t>(PTRDIFF_MAX) / SizeOf(elements.type) / static_cast<size_t>(elements.comm->size())) {
    return Fail(Code::kUsage, "{} ranks cannot have {} elements each", elements.comm->size(), count);
  }
  return elements;
}

template <typename Call>
muster_error* OnElements(muster_comm* comm, size_t count, muster_type type, const Call& call) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return call(elements);
  });
}

template <typename Call>
muster_error* OnElements(muster_comm* comm, size_t count, muster_type type, muster_operation operation,
                         const Call& call) {
  return OnElements(comm, count, type, [&](const Elements& elements) -> Status {
    if (operation > MUSTER_AVG)
      return Fail(Code::kUsage, "{} is no muster_operation", static_cast<int>(operation));
    return call(elements, static_cast<ReduceOp>(operation));
  });
}

}  // namespace
}  // namespace muster::c

using muster::ReduceOp;
using muster::Status;
using muster::c::Elements;
using muster::c::Guard;
using muster::c::OnElements;
using muster::c::Within;

muster_error* muster_barrier(muster_comm* comm, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const muster::c::InUse communicator, muster::c::Alive(comm));
    return communicator->Barrier(Within(timeout_ns));
  });
}

muster_error* muster_broadcast(muster_comm* comm, void* data, size_t count, muster_type type, int root,
                               int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->Broadcast(elements.To(data), root, Within(timeout_ns));
  });
}

muster_error* muster_reduce(muster_comm* comm, const void* send, void* receive, size_t count,
                            muster_type type, muster_operation operation, int root, int64_t timeout_ns) {
  return OnElements(comm, count, type, operation, [&](const Elements& elements, ReduceOp op) {
    return elements.comm->Reduce(elements.From(send), elements.To(receive), op, root, Within(timeout_ns));
  });
}

muster_error* muster_all_reduce(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, muster_operation operation, int64_t timeout_ns) {
  return OnElements(comm, count, type, operation, [&](const Elements& elements, ReduceOp op) {
    return elements.comm->AllReduce(elements.From(send), elements.To(receive), op, Within(timeout_ns));
  });
}

muster_error* muster_gather(muster_comm* comm, const void* send, void* receive, size_t count,
                            muster_type type, int root, int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->Gather(elements.From(send), elements.AllTo(receive), root, Within(timeout_ns));
  });
}

muster_error* muster_all_gather(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->AllGather(elements.From(send), elements.AllTo(receive), Within(timeout_ns));
  });
}

muster_error* muster_scatter(muster_comm* comm, const void* send, void* receive, size_t count,
                             muster_type type, int root, int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->Scatter(elements.AllFrom(send), elements.To(receive), root, Within(timeout_ns));
  });
}

muster_error* muster_reduce_scatter(muster_comm* comm, const void* send, void* receive, size_t count,
                                    muster_type type, muster_operation operation, int64_t timeout_ns) {
  return OnElements(comm, count, type, operation, [&](const Elements& elements, ReduceOp op) {
    return elements.comm->ReduceScatter(elements.AllFrom(send), elements.To(receive), op, Within(timeout_ns));
  });
}

muster_error* muster_all_to_all(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->AllToAll(elements.AllFrom(send), elements.AllTo(receive), Within(timeout_ns));
  });
}

muster_error* muster_send(muster_comm* comm, const void* data, size_t count, muster_type type, int to,
                          int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->Send(elements.From(data), to, Within(timeout_ns));
  });
}

muster_error* muster_recv(muster_comm* comm, void* data, size_t count, muster_type type, int from,
                          int64_t timeout_ns) {
  return OnElements(comm, count, type, [&](const Elements& elements) {
    return elements.comm->Recv(elements.To(data), from, Within(timeout_ns));
  });
}

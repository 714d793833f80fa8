// The collectives of muster.h: arguments of C become those of Communicator.
#include "bootstrap/c/error.h"
#include "bootstrap/c/handles.h"

namespace muster::c {
namespace {

Result<DataType> TypeOf(muster_type type) {
  switch (type) {
    case MUSTER_I8:
      return DataType::kI8;
    case MUSTER_U8:
      return DataType::kU8;
    case MUSTER_I32:
      return DataType::kI32;
    case MUSTER_I64:
      return DataType::kI64;
    case MUSTER_U64:
      return DataType::kU64;
    case MUSTER_F16:
      return DataType::kF16;
    case MUSTER_BF16:
      return DataType::kBF16;
    case MUSTER_F32:
      return DataType::kF32;
    case MUSTER_F64:
      return DataType::kF64;
  }
  return Fail(Code::kUsage, "{} is no muster_type", static_cast<int>(type));
}

Result<ReduceOp> OperationOf(muster_operation operation) {
  switch (operation) {
    case MUSTER_SUM:
      return ReduceOp::kSum;
    case MUSTER_PROD:
      return ReduceOp::kProd;
    case MUSTER_MIN:
      return ReduceOp::kMin;
    case MUSTER_MAX:
      return ReduceOp::kMax;
    case MUSTER_AVG:
      return ReduceOp::kAvg;
  }
  return Fail(Code::kUsage, "{} is no muster_operation", static_cast<int>(operation));
}

// A communicator, and buffers of elements of one type for it.
struct Elements {
  Communicator* comm = nullptr;
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
  MUSTER_TRY(elements.type, TypeOf(type));
  // Elements of all ranks together must be countable.
  if (count >
      static_cast<size_t>(PTRDIFF_MAX) / SizeOf(elements.type) / static_cast<size_t>(elements.comm->size())) {
    return Fail(Code::kUsage, "{} ranks cannot have {} elements each", elements.comm->size(), count);
  }
  return elements;
}

}  // namespace
}  // namespace muster::c

using muster::Status;
using muster::c::Elements;
using muster::c::Guard;
using muster::c::MakeElements;
using muster::c::Within;

muster_error* muster_barrier(muster_comm* comm, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(muster::Communicator * communicator, muster::c::Alive(comm));
    return communicator->Barrier(Within(timeout_ns));
  });
}

muster_error* muster_broadcast(muster_comm* comm, void* data, size_t count, muster_type type, int root,
                               int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->Broadcast(elements.To(data), root, Within(timeout_ns));
  });
}

muster_error* muster_reduce(muster_comm* comm, const void* send, void* receive, size_t count,
                            muster_type type, muster_operation operation, int root, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    MUSTER_TRY(const muster::ReduceOp op, muster::c::OperationOf(operation));
    return elements.comm->Reduce(elements.From(send), elements.To(receive), op, root, Within(timeout_ns));
  });
}

muster_error* muster_all_reduce(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, muster_operation operation, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    MUSTER_TRY(const muster::ReduceOp op, muster::c::OperationOf(operation));
    return elements.comm->AllReduce(elements.From(send), elements.To(receive), op, Within(timeout_ns));
  });
}

muster_error* muster_gather(muster_comm* comm, const void* send, void* receive, size_t count,
                            muster_type type, int root, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->Gather(elements.From(send), elements.AllTo(receive), root, Within(timeout_ns));
  });
}

muster_error* muster_all_gather(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->AllGather(elements.From(send), elements.AllTo(receive), Within(timeout_ns));
  });
}

muster_error* muster_scatter(muster_comm* comm, const void* send, void* receive, size_t count,
                             muster_type type, int root, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->Scatter(elements.AllFrom(send), elements.To(receive), root, Within(timeout_ns));
  });
}

muster_error* muster_reduce_scatter(muster_comm* comm, const void* send, void* receive, size_t count,
                                    muster_type type, muster_operation operation, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    MUSTER_TRY(const muster::ReduceOp op, muster::c::OperationOf(operation));
    return elements.comm->ReduceScatter(elements.AllFrom(send), elements.To(receive), op, Within(timeout_ns));
  });
}

muster_error* muster_all_to_all(muster_comm* comm, const void* send, void* receive, size_t count,
                                muster_type type, int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->AllToAll(elements.AllFrom(send), elements.AllTo(receive), Within(timeout_ns));
  });
}

muster_error* muster_send(muster_comm* comm, const void* data, size_t count, muster_type type, int to,
                          int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->Send(elements.From(data), to, Within(timeout_ns));
  });
}

muster_error* muster_recv(muster_comm* comm, void* data, size_t count, muster_type type, int from,
                          int64_t timeout_ns) {
  return Guard([&]() -> Status {
    MUSTER_TRY(const Elements elements, MakeElements(comm, count, type));
    return elements.comm->Recv(elements.To(data), from, Within(timeout_ns));
  });
}

// The same times of NCCL alone, used as its documentation shows it: ncclCommInitRank and calls that block
// as little as they can. It starts its ranks itself.
//
//   bare_nccl RANKS OPERATION:BYTES:REPEAT...   the times of the slowest rank (calls.h)
//       NCCL_HOSTID: each rank gets it with its number behind
//   bare_nccl --versions              "NCCL 2.28.9, CUDA 13.0, driver for CUDA 13.0, 1 GPU, NVIDIA H200"
#include <fmt/core.h>
#include <nccl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "comm/base/parse.h"
#include "comm/base/unique_fd.h"
#include "comm/nccl/libraries/libraries.h"
#include "comm/system/shared_library.h"
#include "tests/gpu/calls.h"
#include "tests/gpu/device.h"
#include "tests/gpu/places.h"

namespace muster {
namespace {

constexpr int kWarmUp = 3;

// NCCL's own functions: muster's narrow interface never calls the blocking start.
struct Nccl {
  decltype(ncclGetUniqueId)* get_unique_id = nullptr;
  decltype(ncclCommInitRank)* init = nullptr;
  decltype(ncclCommDestroy)* destroy = nullptr;
  decltype(ncclAllReduce)* all_reduce = nullptr;
  decltype(ncclReduceScatter)* reduce_scatter = nullptr;
  decltype(ncclBroadcast)* broadcast = nullptr;
  decltype(ncclSend)* send = nullptr;
  decltype(ncclRecv)* receive = nullptr;
  decltype(ncclGroupStart)* group_start = nullptr;
  decltype(ncclGroupEnd)* group_end = nullptr;
  decltype(ncclGetErrorString)* error_string = nullptr;

  Status Check(ncclResult_t result, std::string_view what) const {
    if (result == ncclSuccess) return {};
    return Fail(Code::kSystem, "NCCL cannot {}: {}", what, error_string(result));
  }
};

Result<Nccl> OpenNccl() {
  const nccl::LibraryFiles files = nccl::FindNcclFiles(PlacesOfThisProcess());
  MUSTER_TRY(const SharedLibrary library,
             SharedLibrary::Open({"libnccl.so.2"}, files.preferred, files.last_resorts));
  Nccl nccl;
  MUSTER_CHECK(library.Need("ncclGetUniqueId", &nccl.get_unique_id));
  MUSTER_CHECK(library.Need("ncclCommInitRank", &nccl.init));
  MUSTER_CHECK(library.Need("ncclCommDestroy", &nccl.destroy));
  MUSTER_CHECK(library.Need("ncclAllReduce", &nccl.all_reduce));
  MUSTER_CHECK(library.Need("ncclReduceScatter", &nccl.reduce_scatter));
  MUSTER_CHECK(library.Need("ncclBroadcast", &nccl.broadcast));
  MUSTER_CHECK(library.Need("ncclSend", &nccl.send));
  MUSTER_CHECK(library.Need("ncclRecv", &nccl.receive));
  MUSTER_CHECK(library.Need("ncclGroupStart", &nccl.group_start));
  MUSTER_CHECK(library.Need("ncclGroupEnd", &nccl.group_end));
  MUSTER_CHECK(library.Need("ncclGetErrorString", &nccl.error_string));
  return nccl;
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;

  static Result<Pipe> Make() {
    int ends[2];
    if (pipe(ends) != 0) return Fail(Code::kSystem, "pipe: {}", ErrnoText(errno));
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
};

template <typename T>
Status Send(const UniqueFd& fd, const T* data, size_t count) {
  const auto bytes = static_cast<ssize_t>(count * sizeof *data);
  if (write(fd.get(), data, static_cast<size_t>(bytes)) == bytes) return {};
  return Fail(Code::kSystem, "cannot write to a pipe");
}
template <typename T>
Status Receive(const UniqueFd& fd, T* data, size_t count) {
  const auto bytes = static_cast<ssize_t>(count * sizeof *data);
  if (read(fd.get(), data, static_cast<size_t>(bytes)) == bytes) return {};
  return Fail(Code::kSystem, "a rank has ended early");
}

// The facts that a rank needs of its peers.
struct Rank {
  int rank = 0;
  std::vector<Pipe>& ids;  // rank 0 writes, each reads its own
  const UniqueFd& times;
};

// This rank's communicator and stream.
struct Lane {
  ncclComm_t comm = nullptr;
  int rank = 0;
  int ranks = 1;
  cudaStream_t stream = nullptr;
};

ncclResult_t AllReduce(const Nccl& nccl, const Lane& lane, void* data, size_t count) {
  return nccl.all_reduce(data, data, count, ncclFloat32, ncclSum, lane.comm, lane.stream);
}

ncclResult_t InGroup(const Nccl& nccl, const Lane& lane, const TimedCall& call, void* data, void* room) {
  ncclResult_t result = nccl.group_start();
  if (call.operation == Timed::kSendRecv) {
    const int next = (lane.rank + 1) % lane.ranks;
    const int before = (lane.rank + lane.ranks - 1) % lane.ranks;
    if (result == ncclSuccess) {
      result = nccl.send(data, call.count(), ncclFloat32, next, lane.comm, lane.stream);
    }
    if (result == ncclSuccess) {
      result = nccl.receive(room, call.count(), ncclFloat32, before, lane.comm, lane.stream);
    }
  } else {
    for (int i = 0; i < kInGroup && result == ncclSuccess; ++i) {
      result = AllReduce(nccl, lane, data, call.count());
    }
  }
  const ncclResult_t ended = nccl.group_end();
  return result == ncclSuccess ? ended : result;
}

ncclResult_t Call(const Nccl& nccl, const Lane& lane, const TimedCall& call, void* data, void* room) {
  switch (call.operation) {
    case Timed::kReduceScatter:
      return nccl.reduce_scatter(data, room, call.count() / static_cast<size_t>(lane.ranks), ncclFloat32,
                                 ncclSum, lane.comm, lane.stream);
    case Timed::kBroadcast:
      return nccl.broadcast(data, data, call.count(), ncclFloat32, 0, lane.comm, lane.stream);
    case Timed::kSendRecv:
    case Timed::kGroup:
      return InGroup(nccl, lane, call, data, room);
    default:
      return AllReduce(nccl, lane, data, call.count());
  }
}

Result<double> Time(const Nccl& nccl, const Lane& lane, const Device& device, const TimedCall& call) {
  MUSTER_TRY(const DeviceArray send, DeviceArray::Filled(device, Bytes(call.bytes)));
  MUSTER_TRY(const DeviceArray receive, DeviceArray::Filled(device, Bytes(call.bytes)));
  void* data = send.As(DataType::kF32).data;
  void* room = receive.As(DataType::kF32).data;
  const auto repeat = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      MUSTER_CHECK(nccl.Check(Call(nccl, lane, call, data, room), call.name));
    }
    return device.Wait();
  };
  MUSTER_CHECK(repeat(kWarmUp));
  const auto start = Clock::now();
  MUSTER_CHECK(repeat(call.repeat));
  return SecondsSince(start) / call.repeat;
}

Status Measure(const Rank& self, const std::vector<TimedCall>& calls) {
  const auto start = Clock::now();
  MUSTER_TRY(const Device device, Device::Open());
  MUSTER_CHECK(device.Check(device.cuda().SetDevice(0), "use the GPU"));
  MUSTER_TRY(const Nccl nccl, OpenNccl());
  ncclUniqueId id = {};
  if (self.rank == 0) {
    MUSTER_CHECK(nccl.Check(nccl.get_unique_id(&id), "draw an id"));
    for (const Pipe& pipe : self.ids) MUSTER_CHECK(Send(pipe.writer, &id, 1));
  }
  MUSTER_CHECK(Receive(self.ids[static_cast<size_t>(self.rank)].reader, &id, 1));
  ncclComm_t comm = nullptr;
  MUSTER_CHECK(nccl.Check(nccl.init(&comm, static_cast<int>(self.ids.size()), id, self.rank), "start"));
  std::vector<double> seconds = {SecondsSince(start)};
  const Lane lane = {comm, self.rank, static_cast<int>(self.ids.size()), device.stream()};
  for (const TimedCall& call : calls) {
    MUSTER_TRY(const double one, Time(nccl, lane, device, call));
    seconds.push_back(one);
  }
  MUSTER_CHECK(nccl.Check(nccl.destroy(comm), "end"));
  return Send(self.times, seconds.data(), seconds.size());
}

int Complain(const Status& status) {
  if (status) return 0;
  fmt::print(stderr, "bare_nccl: {}\n", ToString(status.error()));
  return ExitStatus(status.error().code);
}

// As a launcher would. An NCCL that cannot share a GPU by itself is to take them for ranks of different
// hosts.
void BecomeRank(int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* host = std::getenv("NCCL_HOSTID");
  if (host != nullptr) setenv("NCCL_HOSTID", fmt::format("{}-{}", host, rank).c_str(), 1);
}

// Forks before anything of CUDA is there: neither it nor NCCL survives that.
Status Start(int ranks, const std::vector<TimedCall>& calls) {
  std::vector<Pipe> ids;
  for (int rank = 0; rank < ranks; ++rank) {
    MUSTER_TRY(Pipe pipe, Pipe::Make());
    ids.push_back(std::move(pipe));
  }
  MUSTER_TRY(Pipe times, Pipe::Make());
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return Fail(Code::kSystem, "fork: {}", ErrnoText(errno));
    if (child == 0) {
      BecomeRank(rank);
      times.reader.Reset();
      _exit(Complain(Measure({rank, ids, times.writer}, calls)));
    }
    children.push_back(child);
  }
  times.writer.Reset();
  Status ended;
  for (int left = ranks; left > 0; --left) {
    int status = 0;
    wait(&status);
    if (status == 0 || !ended) continue;
    ended = Fail(Code::kSystem, "a rank failed");
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  MUSTER_CHECK(ended);
  std::vector<double> slowest(calls.size() + 1);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<double> its(slowest.size());
    MUSTER_CHECK(Receive(times.reader, its.data(), its.size()));
    for (size_t i = 0; i < its.size(); ++i) slowest[i] = std::max(slowest[i], its[i]);
  }
  fmt::print("{}\n", FormatTimes(calls, slowest));
  return {};
}

Status PrintVersions() {
  MUSTER_TRY(const Device device, Device::Open());
  MUSTER_TRY(const auto nccl, nccl::LoadNccl(nccl::FindNcclFiles(PlacesOfThisProcess())));
  int driver = 0;
  int count = 0;
  nccl::CudaDevice gpu;
  MUSTER_CHECK(device.Check(device.cuda().DriverVersion(&driver), "say the driver's version"));
  MUSTER_CHECK(device.Check(device.cuda().DeviceCount(&count), "count the GPUs"));
  MUSTER_CHECK(device.Check(device.cuda().Describe(0, &gpu), "describe the GPU"));
  fmt::print("NCCL {}, CUDA {}, driver for CUDA {}, {} GPU{}, {}\n", ToString(nccl->version()),
             nccl::FormatCudaVersion(device.cuda().runtime_version()), nccl::FormatCudaVersion(driver), count,
             count == 1 ? "" : "s", gpu.name);
  return {};
}

Status Run(std::span<const char* const> words) {
  if (words.size() == 1 && std::string_view(words.front()) == "--versions") return PrintVersions();
  const auto ranks = words.empty() ? std::nullopt : ParseInteger<int>(words.front());
  if (!ranks || *ranks < 1)
    return Fail(Code::kUsage, "bare_nccl RANKS OPERATION:BYTES:REPEAT..., or --versions");
  MUSTER_TRY(const std::vector<TimedCall> calls, ParseCalls(words.subspan(1)));
  return Start(*ranks, calls);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<size_t>(argc));
  return muster::Complain(muster::Run(words.subspan(argc > 0 ? 1 : 0)));
}

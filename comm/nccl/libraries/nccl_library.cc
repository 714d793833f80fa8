#include <nccl.h>

#include <cstring>

#include "comm/nccl/libraries/libraries.h"
#include "comm/system/shared_library.h"

namespace muster::nccl {
namespace {

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(static_cast<int>(NcclResult::kRemoteError) == ncclRemoteError);
static_assert(static_cast<int>(NcclResult::kInProgress) == ncclInProgress);

struct Functions {
  Symbols symbols;
  decltype(ncclGetUniqueId)* get_unique_id = symbols.Need("ncclGetUniqueId");
  decltype(ncclCommInitRankConfig)* init = symbols.Need("ncclCommInitRankConfig");
  decltype(ncclCommInitRankScalable)* init_scalable = symbols.Want("ncclCommInitRankScalable");
  decltype(ncclCommSplit)* split = symbols.Need("ncclCommSplit");
  decltype(ncclCommGetAsyncError)* async_error = symbols.Need("ncclCommGetAsyncError");
  decltype(ncclCommFinalize)* finalize = symbols.Need("ncclCommFinalize");
  decltype(ncclCommDestroy)* destroy = symbols.Need("ncclCommDestroy");
  decltype(ncclCommAbort)* abort = symbols.Need("ncclCommAbort");
  decltype(ncclBroadcast)* broadcast = symbols.Need("ncclBroadcast");
  decltype(ncclReduce)* reduce = symbols.Need("ncclReduce");
  decltype(ncclAllReduce)* all_reduce = symbols.Need("ncclAllReduce");
  decltype(ncclAllGather)* all_gather = symbols.Need("ncclAllGather");
  decltype(ncclReduceScatter)* reduce_scatter = symbols.Need("ncclReduceScatter");
  decltype(ncclSend)* send = symbols.Need("ncclSend");
  decltype(ncclRecv)* recv = symbols.Need("ncclRecv");
  decltype(ncclGroupStart)* group_start = symbols.Need("ncclGroupStart");
  decltype(ncclGroupEnd)* group_end = symbols.Need("ncclGroupEnd");
  decltype(ncclGetErrorString)* error_string = symbols.Need("ncclGetErrorString");
  decltype(ncclGetLastError)* last_error = symbols.Need("ncclGetLastError");
};

// The version first: for an older library the error names the version rather than a missing function.
Result<NcclVersion> CheckVersion(const SharedLibrary& library) {
  decltype(ncclGetVersion)* get_version = nullptr;
  MUSTER_CHECK(library.Need("ncclGetVersion", &get_version));
  int code = 0;
  if (get_version(&code) != ncclSuccess) {
    return Fail(Code::kConfiguration, "{} does not report its version", library.path());
  }
  const NcclVersion version = ParseNcclVersion(code);
  if (version.major == kLeastNccl.major && version.AtLeast(kLeastNccl)) return version;
  return WithHint(Fail(Code::kConfiguration, "{} is NCCL {}", library.path(), ToString(version)),
                  fmt::format("install NCCL {}.{} or newer, of the same major version", kLeastNccl.major,
                              kLeastNccl.minor));
}

NcclResult Of(ncclResult_t result) { return static_cast<NcclResult>(result); }

ncclDataType_t TypeOf(DataType type) {
  constexpr ncclDataType_t kTypes[] = {ncclInt8,    ncclUint8,    ncclInt32,   ncclInt64,  ncclUint64,
                                       ncclFloat16, ncclBfloat16, ncclFloat32, ncclFloat64};
  return kTypes[static_cast<size_t>(type)];
}

ncclRedOp_t OperationOf(ReduceOp operation) {
  constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg};
  return kOperations[static_cast<size_t>(operation)];
}

// Without blocking NCCL starts a thread for each launch.
ncclConfig_t Blocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  return config;
}

class NcclLibrary final : public NcclApi {
 public:
  NcclLibrary(NcclVersion version, const Functions& functions) : version_(version), f_(functions) {}

  NcclVersion version() const override { return version_; }

  NcclResult GetUniqueId(NcclId* id) override {
    ncclUniqueId theirs = {};
    const ncclResult_t result = f_.get_unique_id(&theirs);
    std::memcpy(id->data(), &theirs, sizeof theirs);
    return Of(result);
  }
  NcclResult Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) override {
    ncclConfig_t config = Blocking();
    std::vector<ncclUniqueId> theirs(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) std::memcpy(&theirs[i], ids[i].data(), sizeof theirs[i]);
    if (ids.size() == 1) return Of(f_.init(comm, size, theirs.front(), rank, &config));
    if (ids.empty() || f_.init_scalable == nullptr) return NcclResult::kInvalidUsage;
    return Of(f_.init_scalable(comm, size, rank, static_cast<int>(ids.size()), theirs.data(), &config));
  }
  NcclResult Split(NcclComm comm, int color, int key, NcclComm* part) override {
    ncclConfig_t config = Blocking();
    return Of(f_.split(comm, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, part, &config));
  }

  bool HasInitScalable() const override { return f_.init_scalable != nullptr; }

  NcclResult AsyncError(NcclComm comm, NcclResult* state) override {
    ncclResult_t theirs = ncclSuccess;
    const ncclResult_t result = f_.async_error(comm, &theirs);
    *state = Of(theirs);
    return Of(result);
  }
  NcclResult Finalize(NcclComm comm) override { return Of(f_.finalize(comm)); }
  NcclResult Destroy(NcclComm comm) override { return Of(f_.destroy(comm)); }
  NcclResult Abort(NcclComm comm) override { return Of(f_.abort(comm)); }

  NcclResult Launch(const OperationRequest& request, NcclComm comm, CudaStream stream) override {
    const auto& [operation, send, receive, reduce, root] = request;
    const ncclRedOp_t op = OperationOf(reduce);
    const ncclDataType_t sent = TypeOf(send.type);
    const ncclDataType_t received = TypeOf(receive.type);
    switch (operation) {
      case Operation::kBroadcast:
        return Of(f_.broadcast(receive.data, receive.data, receive.count, received, root, comm, stream));
      case Operation::kReduce:
        return Of(f_.reduce(send.data, receive.data, send.count, sent, op, root, comm, stream));
      case Operation::kAllReduce:
        return Of(f_.all_reduce(send.data, receive.data, send.count, sent, op, comm, stream));
      case Operation::kAllGather:
        return Of(f_.all_gather(send.data, receive.data, send.count, sent, comm, stream));
      case Operation::kReduceScatter:
        return Of(f_.reduce_scatter(send.data, receive.data, receive.count, received, op, comm, stream));
      case Operation::kSend:
        return Of(f_.send(send.data, send.count, sent, root, comm, stream));
      case Operation::kRecv:
        return Of(f_.recv(receive.data, receive.count, received, root, comm, stream));
      default:
        return NcclResult::kInvalidUsage;
    }
  }
  NcclResult GroupStart() override { return Of(f_.group_start()); }
  NcclResult GroupEnd() override { return Of(f_.group_end()); }

  std::string Describe(NcclResult result) const override {
    return f_.error_string(static_cast<ncclResult_t>(result));
  }
  std::string LastError() const override {
    const char* said = f_.last_error(nullptr);
    return said == nullptr ? "" : said;
  }

 private:
  const NcclVersion version_;
  const Functions f_;
};

}  // namespace

Result<std::unique_ptr<NcclApi>> LoadNccl(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open({"libnccl.so.2"}, files.preferred, files.last_resorts);
  if (!library) {
    return WithHint(
        Fail(library.error()),
        "install NCCL (pip install nvidia-nccl-cu13, or the toolkit's libnccl2), set NCCL_HOME, or set "
        "backend: socket");
  }
  MUSTER_TRY(const NcclVersion version, CheckVersion(*library));
  MUSTER_TRY(const Functions functions, FindFunctions<Functions>(*library));
  return std::make_unique<NcclLibrary>(version, functions);
}

}  // namespace muster::nccl

// The part of NCCL that muster uses, as an interface: libraries.h makes one of the real library,
// tests/comm/nccl has a fake. No header of NCCL is needed to use it.
//
// Threads: calls for different communicators may run in different threads; Abort and AsyncError may be called
// for a communicator that another thread is in. Calls that need other ranks (Init, Split, Finalize, the first Launch
// with a peer) wait for them without limit, or until the communicator is aborted. Abort, Finalize and Destroy
// have been observed to block (NVIDIA/nccl#829, #549, #1013): call them so that they can be abandoned.
//
// Protocol source: nccl.h of 2.22 to 2.32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl/libraries/cuda_api.h"

// NCCL's own.
struct ncclComm;

namespace muster::nccl {

// The values of ncclResult_t. Later versions may add to them.
enum class NcclResult : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

// Any process with an id can join the communicator: ids travel only over the authenticated control plane.
using NcclId = std::array<uint8_t, 128>;

// ncclComm_t. Owned by NCCL; freed by Destroy or Abort.
using NcclComm = ::ncclComm*;

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  // This one or a later one.
  bool AtLeast(const NcclVersion& least) const;

  friend bool operator==(const NcclVersion&, const NcclVersion&) = default;
};
std::string ToString(NcclVersion version);  // "2.32.3"
// From the number that NCCL gives: 23203, and 2708 before 2.9.
NcclVersion ParseNcclVersion(int code);

class NcclApi {
 public:
  NcclApi() = default;
  NcclApi(const NcclApi&) = delete;
  NcclApi& operator=(const NcclApi&) = delete;
  virtual ~NcclApi() = default;

  virtual NcclVersion version() const = 0;

  // Opens a port and starts a thread in this process that connects the ranks; needs no GPU.
  [[nodiscard]] virtual NcclResult GetUniqueId(NcclId* id) = 0;
  // All ids in the same order on every rank; more than one only if HasInitScalable.
  [[nodiscard]] virtual NcclResult Init(NcclComm* comm, int size, int rank, std::vector<NcclId>& ids) = 0;
  // *part is written at the end, also at a failure: then it is the caller's to abort. A negative color makes none.
  [[nodiscard]] virtual NcclResult Split(NcclComm comm, int color, int key, NcclComm* part) = 0;

  // Capabilities of the loaded library beyond the least version.
  virtual bool HasInitScalable() const = 0;  // 2.23

  // *state: kSuccess, or what went wrong, also in NCCL's own threads.
  [[nodiscard]] virtual NcclResult AsyncError(NcclComm comm, NcclResult* state) = 0;
  [[nodiscard]] virtual NcclResult Finalize(NcclComm comm) = 0;
  [[nodiscard]] virtual NcclResult Destroy(NcclComm comm) = 0;
  // All calls on it, in any thread, end with an error. It is freed, in a group at GroupEnd: by then they must have
  // returned.
  [[nodiscard]] virtual NcclResult Abort(NcclComm comm) = 0;

  // Operations that NCCL has itself: all but Barrier, Gather, Scatter and AllToAll (kInvalidUsage). Send and Recv
  // between GroupStart and GroupEnd also go to this rank itself.
  [[nodiscard]] virtual NcclResult Launch(const OperationRequest& request, NcclComm comm,
                                          CudaStream stream) = 0;
  [[nodiscard]] virtual NcclResult GroupStart() = 0;
  [[nodiscard]] virtual NcclResult GroupEnd() = 0;

  virtual std::string Describe(NcclResult result) const = 0;
  // NCCL's last error text in this process, for all communicators; empty if there is none.
  virtual std::string LastError() const = 0;
};

}  // namespace muster::nccl

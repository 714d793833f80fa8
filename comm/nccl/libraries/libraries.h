// The real libraries, opened at run time: of the toolkit, of the system, or of a PyTorch installation. CUDA's runtime
// may load without a driver or a GPU: check DriverVersion and DeviceCount.
//
// Ownership: the results stay usable until the process ends. BLOCKS while a file is read (300 MB, maybe over NFS):
// call it so that it can be abandoned.
#pragma once

#include <memory>

#include "comm/base/error.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/library_files.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

inline constexpr int kLeastCuda = 11'040;  // 11.4
// An abort in a group frees the communicator only at the end of the group.
inline constexpr NcclVersion kLeastNccl = {2, 22, 0};

// Those of `files` that are not there are skipped.
// Error: kConfiguration: not found, too old, or this muster was built without the headers.
Result<std::unique_ptr<CudaApi>> LoadCuda(const LibraryFiles& files);
Result<std::unique_ptr<NcclApi>> LoadNccl(const LibraryFiles& files);

}  // namespace muster::nccl

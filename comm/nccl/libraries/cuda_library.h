// The real CUDA runtime, opened at run time. It may load without a driver or a GPU: check DriverVersion and
// DeviceCount.
//
// Ownership: the result stays usable until the process ends. BLOCKS while the file is read: call it so that
// it can be abandoned.
#pragma once

#include <memory>

#include "comm/base/error.h"
#include "comm/nccl/libraries/cuda_api.h"
#include "comm/nccl/libraries/library_files.h"

namespace muster::nccl {

inline constexpr int kLeastCuda = 11'040;  // 11.4

// Those of `files` that are not there are skipped.
// Error: kConfiguration: not found, too old, or this muster was built without CUDA's headers.
Result<std::unique_ptr<CudaApi>> LoadCuda(const LibraryFiles& files);

}  // namespace muster::nccl

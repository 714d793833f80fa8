// The real CUDA runtime, opened at run time. Whether there is a driver or a GPU is another question: ask
// DriverVersion and DeviceCount.
//
// Ownership: the result stays usable for the life of the process. BLOCKS while the file is read: call it
// where it can be abandoned.
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

// The real NCCL, opened at run time: of the toolkit, of the system, or of a PyTorch installation.
//
// Ownership: the result stays usable until the process ends. BLOCKS while the file is read (300 MB, maybe
// over NFS): call it so that it can be abandoned.
#pragma once

#include <memory>

#include "comm/base/error.h"
#include "comm/nccl/libraries/library_files.h"
#include "comm/nccl/libraries/nccl_api.h"

namespace muster::nccl {

// Non-blocking communicators that can be split and aborted.
inline constexpr NcclVersion kLeastNccl = {2, 18, 0};

// Those of `files` that are not there are skipped.
// Error: kConfiguration: not found, too old, or this muster was built without NCCL's headers.
Result<std::unique_ptr<NcclApi>> LoadNccl(const LibraryFiles& files);

}  // namespace muster::nccl

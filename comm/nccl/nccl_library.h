// The real NCCL, opened at run time: of the toolkit, of the system, or of a PyTorch installation.
//
// Ownership: the result stays usable for the life of the process. BLOCKS while the file is read (300 MB,
// maybe over NFS): call it where it can be abandoned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/nccl/nccl_api.h"

namespace muster {

// Non-blocking communicators that can be split and aborted.
inline constexpr NcclVersion kLeastNccl = {2, 18, 0};

// `files` are tried before the loader's own search; those that are not there are skipped.
// Error: kConfiguration: not found, too old, or this muster was built without NCCL's headers.
Result<std::unique_ptr<NcclApi>> LoadNccl(const std::vector<std::string>& files);

}  // namespace muster

// Replaces nccl_library.cc and cuda_library.cc if the headers were not found when muster was built.
#include "comm/nccl/libraries/libraries.h"

namespace muster::nccl {
namespace {

tl::unexpected<Error> BuiltWithout(std::string_view what) {
  return WithHint(
      Fail(Code::kConfiguration, "this muster was built without the headers of {}, and so without NCCL",
           what),
      "run deploy/nccl/get, or set NCCL_HOME and CUDA_HOME, and build muster again; or set backend: socket");
}

}  // namespace

Result<std::unique_ptr<NcclApi>> LoadNccl(const LibraryFiles&) { return BuiltWithout("NCCL"); }

Result<std::unique_ptr<CudaApi>> LoadCuda(const LibraryFiles&) { return BuiltWithout("the CUDA runtime"); }

}  // namespace muster::nccl

#include "tests/gpu/endless_kernel.h"

#include <cstdint>

#include "comm/system/shared_library.h"

namespace muster {
namespace {

// Waits until a word of memory is no longer 0. No program writes it.
constexpr const char* kText = R"(
.version 6.3
.target sm_50
.address_size 64
.visible .entry endless(
	.param .u64 endless_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<2>;
	.reg .b64 	%rd<3>;
	ld.param.u64 	%rd1, [endless_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
$again:
	ld.volatile.global.u32 	%r1, [%rd2];
	setp.eq.u32 	%p1, %r1, 0;
	@%p1 bra 	$again;
	ret;
}
)";

struct Driver {
  int (*load_module)(void**, const void*) = nullptr;
  int (*find_function)(void**, void*, const char*) = nullptr;
  int (*allocate)(unsigned long long*, size_t) = nullptr;
  int (*copy)(unsigned long long, const void*, size_t) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
};

Result<Driver> OpenDriver() {
  MUSTER_TRY(const SharedLibrary library, SharedLibrary::Open({"libcuda.so.1"}, {}));
  Driver driver;
  MUSTER_CHECK(library.Need("cuModuleLoadData", &driver.load_module));
  MUSTER_CHECK(library.Need("cuModuleGetFunction", &driver.find_function));
  MUSTER_CHECK(library.Need("cuMemAlloc_v2", &driver.allocate));
  MUSTER_CHECK(library.Need("cuMemcpyHtoD_v2", &driver.copy));
  MUSTER_CHECK(library.Need("cuLaunchKernel", &driver.launch));
  return driver;
}

Status Check(int result, std::string_view what) {
  if (result == 0) return {};
  return Fail(Code::kSystem, "the driver cannot {} (error {})", what, result);
}

}  // namespace

Status LaunchEndlessKernel(nccl::CudaStream stream) {
  MUSTER_TRY(const Driver driver, OpenDriver());
  void* module = nullptr;
  MUSTER_CHECK(Check(driver.load_module(&module, kText), "compile a kernel"));
  void* function = nullptr;
  MUSTER_CHECK(Check(driver.find_function(&function, module, "endless"), "find a kernel"));
  unsigned long long word = 0;
  const uint32_t zero = 0;
  MUSTER_CHECK(Check(driver.allocate(&word, sizeof zero), "allocate memory"));
  MUSTER_CHECK(Check(driver.copy(word, &zero, sizeof zero), "copy to the GPU"));
  void* arguments[] = {&word};
  return Check(driver.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "launch a kernel");
}

}  // namespace muster

// The errors of the C interface, and the fence that no exception passes.
#pragma once

#include <exception>
#include <new>

#include "bootstrap/c/muster.h"
#include "comm/base/error.h"

struct muster_error {
  int code = MUSTER_OK;
  std::string message;
  std::string hint;
};

namespace muster::c {

// For the caller of the C interface.
muster_error* MakeError(const Error& error);
// Not allocated: there is no memory for it. muster_error_free does not free it.
muster_error* OutOfMemory();

// The result of `body` as a C status.
template <typename Body>
muster_error* Guard(const Body& body) noexcept {
  try {
    try {
      const Status status = body();
      return status ? nullptr : MakeError(status.error());
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    } catch (const std::exception& exception) {
      return MakeError({Code::kInternal, fmt::format("an exception: {}", exception.what())});
    }
  } catch (...) {
    return OutOfMemory();
  }
}

}  // namespace muster::c

// Lets gtest show an Error in words if it is not the expected one.
#pragma once

#include <ostream>

#include "comm/base/error.h"

namespace muster {

inline void PrintTo(const Error& error, std::ostream* out) {
  *out << CodeName(error.code) << ": \"" << error.message << "\" (" << error.hint << ")";
}

}  // namespace muster

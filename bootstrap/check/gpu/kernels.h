// The text of kernels.cu for the compiler of a GPU's driver: check_fill, check_compare, check_product.
#pragma once

namespace muster::check {

extern const char* const kKernels;

}  // namespace muster::check

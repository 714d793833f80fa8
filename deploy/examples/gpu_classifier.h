// The classifier on a GPU, by the CUDA driver alone: the program needs nothing of CUDA to be built or
// started.
//
// Protocol source: CUDA driver API, 10 to 13 (libcuda.so.1).
#pragma once

#include "comm/base/error.h"
#include "deploy/examples/digits_data.h"
#include "deploy/examples/nearest_neighbour.h"

namespace muster::examples {

// The text of digits_kernel.cu for the driver's compiler.
extern const char* const kDigitsKernel;

// Copies `digits` to the GPU that is CUDA's current one in this thread (the nccl backend makes this rank's
// so), else to the first; the classifier answers for these digits alone, with the very labels of
// ClassifyByNearest. BLOCKS while the driver compiles the kernel, well under a second. Error: kConfiguration:
// no driver; kSystem: the driver's own words.
Result<Classifier> MakeGpuClassifier(const Digits& digits);

}  // namespace muster::examples

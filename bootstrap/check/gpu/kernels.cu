// The programs of `muster check` for each GPU. Checked in beside this file as text (kernels.ptx), which the
// driver compiles for the GPU that it has: building muster needs no CUDA. If nvcc is there, a test compares
// the two.

// Neighbouring words differ in about half of their bits. Masks 0 and ~0 give each bit both values.
static __device__ unsigned int pattern(unsigned int index, unsigned int mask) {
  return (index * 2654435761u) ^ mask;
}

// words[0..count) get the pattern. Each thread writes every `stride`-th word.
extern "C" __global__ void check_fill(unsigned int* words, unsigned int count, unsigned int mask,
                                      unsigned int stride) {
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    words[i] = pattern(i, mask);
  }
}

// Adds to *wrong how many of words[0..count) do not have the pattern.
extern "C" __global__ void check_compare(const unsigned int* words, unsigned int count, unsigned int mask,
                                         unsigned int stride, unsigned int* wrong) {
  unsigned int differ = 0;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (words[i] != pattern(i, mask)) differ += 1;
  }
  if (differ > 0) atomicAdd(wrong, differ);
}

// product = left x right, square, row by row; one thread computes one element. All values are small whole
// numbers: every sum is exact in float, in any order.
extern "C" __global__ void check_product(const float* left, const float* right, float* product,
                                         unsigned int size) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size * size) return;
  const unsigned int row = i / size;
  const unsigned int column = i - row * size;
  float sum = 0;
  for (unsigned int k = 0; k < size; ++k) sum += left[row * size + k] * right[k * size + column];
  product[i] = sum;
}

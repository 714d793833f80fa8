// The classifier on a GPU: each thread finds the nearest image of one row, as nearest_neighbour.cc does, in
// whole numbers and with the same choice among equals. It is built into the program as text
// (digits_kernel.ptx) that the GPU's driver compiles: building the program needs no CUDA, and one program
// serves nodes with and without GPUs.
extern "C" __global__ void digits_nearest(const unsigned char* pixels, const unsigned char* labels,
                                          unsigned int images, unsigned int first_row, unsigned int rows,
                                          unsigned char* predictions) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const unsigned int row = first_row + i;
  int nearest = 0x7fffffff;
  unsigned char label = 0;
  for (unsigned int other = 0; other < images; ++other) {
    if (other == row) continue;
    int distance = 0;
    for (unsigned int pixel = 0; pixel < 64; ++pixel) {
      const int difference = int(pixels[row * 64 + pixel]) - int(pixels[other * 64 + pixel]);
      distance += difference * difference;
    }
    if (distance < nearest) {
      nearest = distance;
      label = labels[other];
    }
  }
  predictions[i] = label;
}

/* The same work by MPI; compiled once for each MPI with its own mpicc -O2.
 *   mpi_peer                        init and one barrier; rank 0 prints the seconds of both
 *   mpi_peer BYTES:ITERATIONS...    allreduce of f32 sums; rank 0 prints bytes and microseconds per call */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void Measure(size_t bytes, int iterations, int rank, int ranks) {
  const int count = bytes < sizeof(float) ? 1 : (int)(bytes / sizeof(float));
  float* values = malloc((size_t)count * sizeof(float));
  float* sums = malloc((size_t)count * sizeof(float));
  const int warm_up = iterations / 10 < 1 ? 1 : iterations / 10 > 100 ? 100 : iterations / 10;
  for (int i = 0; i < count; ++i) values[i] = 1.0F;
  for (int i = 0; i < warm_up; ++i) MPI_Allreduce(values, sums, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    if (sums[i] != (float)ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = Now();
  for (int i = 0; i < iterations; ++i) MPI_Allreduce(values, sums, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const double took = Now() - start;
  if (rank == 0) printf("%zu %.3f\n", bytes, took * 1e6 / iterations);
  MPI_Barrier(MPI_COMM_WORLD);
  free(values);
  free(sums);
}

int main(int argc, char** argv) {
  const double start = Now();
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  const double formed = Now();
  MPI_Barrier(MPI_COMM_WORLD);
  const double done = Now();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0 && argc == 1) printf("%.6f %.6f\n", formed - start, done - formed);
  for (int i = 1; i < argc; ++i) {
    size_t bytes = 0;
    int iterations = 0;
    if (sscanf(argv[i], "%zu:%d", &bytes, &iterations) == 2) Measure(bytes, iterations, rank, ranks);
  }
  MPI_Finalize();
  return 0;
}

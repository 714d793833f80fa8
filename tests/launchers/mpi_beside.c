/* A program that is both a rank of MPI and a rank of muster, over one launcher's server.
 *
 *   mpi_beside mpi|muster      which begins first, and ends last
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "muster.h"

static void check(muster_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", muster_error_message(error));
  exit(1);
}

int main(int argc, char** argv) {
  const int mpi_first = argc > 1 && strcmp(argv[1], "mpi") == 0;
  muster_comm* world = NULL;
  int rank, sum = 0;
  if (mpi_first) MPI_Init(&argc, &argv);
  check(muster_init(MUSTER_ABI_VERSION, NULL, &world));
  if (!mpi_first) MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank != muster_rank(world)) return 2;
  if (rank == 0) printf("sum %d of %d\n", sum, muster_size(world));
  if (!mpi_first) MPI_Finalize();
  check(muster_shutdown());
  if (mpi_first) MPI_Finalize();
  return 0;
}

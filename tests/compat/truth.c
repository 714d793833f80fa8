/* For `capture`: rank and size, as MPI has them, and the host go to DIR/RANK.tsv; the launcher's variables to DIR/RANK.env.
 *
 *   truth DIR
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

static int is_launchers(const char* variable) {
  static const char* const prefixes[] = {"SLURM", "PMI",  "OMPI_", "PRTE_",  "PALS_", "HYDRA_",
                                         "HYDI_", "MPI_", "MPIR_", "MPICH_", NULL};
  for (const char* const* prefix = prefixes; *prefix != NULL; ++prefix) {
    if (strncmp(variable, *prefix, strlen(*prefix)) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  int rank, size;
  char path[4096], host[256];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  gethostname(host, sizeof host);
  snprintf(path, sizeof path, "%s/%d.tsv", argv[1], rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "%d\t%d\t%s\n", rank, size, host);
  fclose(file);
  snprintf(path, sizeof path, "%s/%d.env", argv[1], rank);
  file = fopen(path, "w");
  if (file == NULL) return 1;
  for (char** variable = environ; *variable != NULL; ++variable) {
    if (is_launchers(*variable) && strchr(*variable, '\n') == NULL) fprintf(file, "%s\n", *variable);
  }
  fclose(file);
  MPI_Finalize();
  return 0;
}

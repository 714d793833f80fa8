# Sourced by `run`: what else starts processes, and what others leave in the environment.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# believes LAUNCHER SIZE COMMAND...: every rank that it starts resolves so.
believes() {
  local launchers
  launchers=$("${@:3}" muster resolve --json | sed 's/^{"launcher":"\([^"]*\)",.*/\1/' | sort | uniq -c | xargs)
  expect 'launchers' "$launchers" "$2 $1"
}

# started LAUNCHER SIZE COMMAND...
started() {
  fresh
  believes "$@"
  "${@:3}" muster run -- "${member[@]}"
  evaluated "$2"
}

# A real MPI program keeps the launcher's own services under muster run.
mpi_program() {
  fresh
  printf '%s\n' '#include <mpi.h>' '#include <stdio.h>' 'int main(int c, char **v) {' \
    'int rank, sum; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);' \
    'MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);' \
    'if (rank == 0) printf("sum %d\n", sum); MPI_Finalize(); }' >"$dir/sum.c"
  "$2" -o "$dir/sum" "$dir/sum.c"
  expect output "$(step "--mpi=$1" -N2 --ntasks-per-node=2 muster run -- "$dir/sum")" 'sum 6'
}

# What enroot's hook sets in a container.
enroot() {
  fresh
  step -N3 --ntasks-per-node=2 sh -c '
    export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID MASTER_ADDR=gpu01 MASTER_PORT=61234
    "$@"' sh muster run -- "${member[@]}"
  evaluated 6
}

# Exported in the script by mistake: srun started this very process and knows better.
stale_rank() {
  fresh
  RANK=0 LOCAL_RANK=0 WORLD_SIZE=6 step -N3 --ntasks-per-node=2 muster run -- "${member[@]}" 2>"$dir/err"
  evaluated 6
  expect_like warning "$(cat "$dir/err")" '*warning: torch-env (*) is ignored: Slurm started this very process*'
}

mpich_on_one_node() { started hydra 4 on gpu01 mpirun.mpich -n 4; }
openmpi_on_one_node() { started openmpi 4 on gpu01 mpirun.openmpi --oversubscribe -n 4; }
openmpi_on_three_nodes() { started openmpi 6 ctl salloc --quiet -N3 --ntasks-per-node=2 mpirun.openmpi -n 6; }

torch_env() { started torch-env 6 step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 "$here/by_hand" gpu01; }

torch_env_elsewhere() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=3s expect_code 78 step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 \
    "$here/by_hand" gpu02 muster run -- "${member[@]}" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rank 0 runs on gpu01 and must be reached there, but gpu02 is 198.18.1.2*'
}

check_starters() {
  check 'srun --mpi=pmix' started slurm 6 step --mpi=pmix -N3 --ntasks-per-node=2
  check 'srun --mpi=pmi2' started slurm 6 step --mpi=pmi2 -N3 --ntasks-per-node=2
  check 'srun --mpi=pmix: an Open MPI program' mpi_program pmix mpicc.openmpi
  check 'srun --mpi=pmi2: an MPICH program' mpi_program pmi2 mpicc.mpich
  check 'srun with what enroot exports' enroot
  check 'srun with a stale RANK' stale_rank
  check 'mpirun of MPICH on one node' mpich_on_one_node
  check 'mpirun of Open MPI on one node' openmpi_on_one_node
  check 'mpirun of Open MPI in salloc on three nodes' openmpi_on_three_nodes
  check 'RANK and MASTER_ADDR by hand' torch_env
  check 'MASTER_ADDR of another node than that of rank 0' torch_env_elsewhere
}

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
  expect_output output 'sum 6' step "--mpi=$1" -N2 --ntasks-per-node=2 muster run -- "$dir/sum"
}

# What enroot's hook sets in a container.
enroot() {
  fresh
  step -N3 --ntasks-per-node=2 sh -c '
    export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID MASTER_ADDR=gpu01 MASTER_PORT=61234
    "$@"' sh muster run -- "${member[@]}"
  evaluated 6
}

# stale_rank RANKS_EACH SPEAKER: RANK=0 of six, exported in the script by mistake. srun started this very process and knows
# better; one rank says so for all. With one task a node the world that was exported is a multiple of the step.
stale_rank() {
  local size=$(($1 * 3))
  fresh
  batch -N3 -w 'gpu[01-03]' --ntasks-per-node="$1" <<-END
	export RANK=0 LOCAL_RANK=0 WORLD_SIZE=6 MASTER_ADDR=gpu01 MASTER_PORT=29500
	srun muster run -- ${member[*]} 2>$dir/err
	END
  evaluated "$size"
  expect 'what it said' "$(words "$dir/err")" "muster: rank $2 on gpu01: warning: torch-env (rank 0 of 6 (RANK=0, $(
    )WORLD_SIZE=6)) is ignored: Slurm started this process (SLURM_TASK_PID) as rank $2 of $size (SLURM_PROCID=$2, $(
    )SLURM_STEP_NUM_TASKS=$size); do not export it in the batch script"
}

# forced COMMAND...: behind a shell with a stale RANK, and yet six tasks of Slurm.
forced() {
  fresh
  RANK=0 LOCAL_RANK=0 WORLD_SIZE=6 step -N3 --ntasks-per-node=2 sh -c '"$@"; exit $?' sh "$@" -- "${member[@]}"
  evaluated 6
}

forced_by_file() {
  echo 'launcher: slurm' >"$files/forced.yaml"
  forced muster run -c "$files/forced.yaml"
}

# A world of one each, where srun would give six.
forced_none() {
  fresh
  expect 'worlds' "$(step -N3 --ntasks-per-node=2 muster run --launcher none -- sh -c 'echo "$RANK/$WORLD_SIZE"' |
    sort | uniq -c | xargs)" '6 0/1'
  MUSTER_LAUNCHER=none expect_output 'in a batch script' '0/1' ctl salloc --quiet -N2 muster run -- sh -c 'echo "$RANK/$WORLD_SIZE"'
}

forced_absent() {
  fresh
  expect_code 64 step -N1 -n1 muster run --launcher torchrun -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*launcher torchrun was requested, but there is no TORCHELASTIC_RUN_ID*'
  expect_code 78 step -N1 -n1 muster run --launcher sulrm -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*there is no launcher called "sulrm"*'
}

# Somebody's own starter, which muster does not know: every word is in the flags.
explicit() {
  fresh
  step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 sh -c '
    exec env -i PATH="$PATH" TOLD="$SLURM_PROCID $SLURM_LOCALID" muster run --rank "$SLURM_PROCID" --world-size 6 \
      --local-rank "$SLURM_LOCALID" --endpoint gpu01:61777 "$@"' sh -- "${member[@]}"
  evaluated 6
}

explicit_half() {
  fresh
  expect_code 64 muster run --rank 1 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*--world-size is missing: --rank and --world-size go together*'
  expect_code 64 muster run --rank 2 --world-size 2 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*--rank=2 is outside --world-size=2*'
  expect_code 78 muster run --rank 1 --world-size 2 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*add --endpoint HOST:PORT*'
}

# run.env, the interface that was chosen, threads; what the user says himself stays.
program_environment() {
  fresh
  unset -v OMP_NUM_THREADS NCCL_SOCKET_IFNAME
  cat >"$dir/env.yaml" <<'END'
rendezvous: {interface: eth0}
run:
  threads: 5
  env: {NAME: "${node}/${rank} of ${world_size}", CACHE: "/tmp/cache-${local_rank}"}
END
  CUDA_VISIBLE_DEVICES=3,1 GLOO_SOCKET_IFNAME=lo step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 muster run -c "$dir/env.yaml" -- \
    sh -c 'echo "$NAME $CACHE $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES"' >"$dir/out"
  expect environment "$(sort "$dir/out")" "$(for rank in 0 1 2 3; do
    echo "gpu0$((rank / 2 + 1))/$rank of 4 /tmp/cache-$((rank % 2)) =eth0 lo 5 3,1"
  done)"
}

mpich_on_one_node() { started hydra 4 on gpu01 mpirun.mpich -n 4; }
openmpi_on_one_node() { started openmpi 4 on gpu01 mpirun.openmpi --oversubscribe -n 4; }
openmpi_on_three_nodes() { started openmpi 6 ctl salloc --quiet -N3 --ntasks-per-node=2 mpirun.openmpi -n 6; }


# More ranks on the first node than on the last.
openmpi_in_sbatch() {
  fresh
  batch -N3 --ntasks-per-node=3 <<<"mpirun.openmpi -n 7 $here/as_rank $dir"
  expect_resolved openmpi 7
  evaluated 7
}

mpich_in_sbatch() {
  fresh
  batch -N3 --ntasks-per-node=3 <<<"mpirun.mpich -n 7 $here/as_rank $dir"
  expect_resolved hydra 7
  evaluated 7
}

openmpi_in_step() { as_ranks openmpi 3 step -N1 -n1 mpirun.openmpi --oversubscribe -n 3; }

torch_env() { started torch-env 6 step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 "$here/by_hand" gpu01; }

check_starters() {
  check 'srun --mpi=pmix' started slurm 6 step --mpi=pmix -N3 --ntasks-per-node=2
  check 'srun --mpi=pmi2' started slurm 6 step --mpi=pmi2 -N3 --ntasks-per-node=2
  check 'srun --mpi=pmix: an Open MPI program' unless_open_mpi_crashes mpi_program pmix mpicc.openmpi
  check 'srun --mpi=pmi2: an MPICH program' mpi_program pmi2 mpicc.mpich
  check 'srun with what enroot exports' enroot
  check 'srun with a stale RANK' stale_rank 2 1
  check 'srun with a stale RANK of a larger world' stale_rank 1 0
  check 'the environment of a program' program_environment
  check 'forced: --launcher slurm' forced muster run --launcher slurm
  check 'forced: MUSTER_LAUNCHER=slurm' forced env MUSTER_LAUNCHER=slurm muster run
  check 'forced: launcher: slurm in the file' forced_by_file
  check 'forced: none' forced_none
  check 'forced: what is not there' forced_absent
  check 'explicit: the tuple by flags' explicit
  check 'explicit: half of it' explicit_half
  check 'mpirun of MPICH on one node' mpich_on_one_node
  check 'mpirun of Open MPI on one node' openmpi_on_one_node
  check 'mpirun of Open MPI in salloc on three nodes' openmpi_on_three_nodes
  check 'mpirun of Open MPI in sbatch, seven ranks on three nodes' openmpi_in_sbatch
  check 'mpirun of MPICH in sbatch, seven ranks on three nodes' mpich_in_sbatch
  check 'mpirun of Open MPI in a step' openmpi_in_step
  check 'RANK and MASTER_ADDR by hand' torch_env
}

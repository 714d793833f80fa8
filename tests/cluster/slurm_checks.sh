# Sourced by `selftest`: what Slurm must do on a test cluster of four nodes.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `selftest` sets here and files

on() { timeout --kill-after=5 60 "$here/on" "$@"; }
ctl() { on ctl "$@"; }

# Rank and node of every task, in order of rank. Nodes are named wherever it matters which: those
# that have just finished a job are passed over by the next.
placement() { ctl srun "$@" sh -c 'echo $SLURM_PROCID:$SLURMD_NODENAME' | sort -n | xargs; }

job_state() { ctl scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p' | xargs; }

state_is() { [[ $(job_state "$1") == "$2" ]]; }
has_line() { grep -qs "$2" "$1"; }

srun_even() {
  expect placement "$(placement -N4 --ntasks-per-node=2)" \
    '0:gpu01 1:gpu01 2:gpu02 3:gpu02 4:gpu03 5:gpu03 6:gpu04 7:gpu04'
}

srun_n16() {
  local placed
  placed=$(placement -N4 -n16)
  expect tasks "$(wc -w <<<"$placed")" 16
  expect nodes "$(grep -o 'gpu..' <<<"$placed" | sort -u | xargs)" 'gpu01 gpu02 gpu03 gpu04'
}

srun_uneven() {
  local placed
  placed=$(placement -N3 -n7)
  expect tasks "$(wc -w <<<"$placed")" 7
  expect_like 'tasks per node' "$(ctl srun -N3 -n7 printenv SLURM_STEP_TASKS_PER_NODE | sort -u)" '*[2-9],1(x2)'
}

srun_cyclic() {
  expect placement "$(placement -N3 -w "gpu[01-03]" -n5 -m cyclic --exclusive)" '0:gpu01 1:gpu02 2:gpu03 3:gpu01 4:gpu02'
}

# Without --exclusive the job gets the first node's CPUs first and one of each other: 7 and 1 tasks.
srun_plane() {
  expect placement "$(placement -N2 -w "gpu[01-02]" -n8 -m plane=2 --exclusive)" \
    '0:gpu01 1:gpu01 2:gpu02 3:gpu02 4:gpu01 5:gpu01 6:gpu02 7:gpu02'
}

srun_arbitrary() {
  printf 'gpu03\ngpu01\ngpu03\n' >"$files/hosts"
  expect placement "$(SLURM_HOSTFILE=$files/hosts placement -n3 -m arbitrary)" '0:gpu03 1:gpu01 2:gpu03'
}

srun_het() {
  local got
  got=$(ctl srun -N1 -n1 printenv SLURM_PROCID SLURMD_NODENAME : -N2 -n4 printenv SLURM_PROCID 2>/dev/null |
    sort | xargs)
  expect_like 'ranks and first node' "$got" '0 1 2 3 4 gpu0?'
}

sbatch_het() {
  ctl sbatch --quiet --wait --output="$files/het" /dev/stdin <<-'END'
	#!/bin/bash
	#SBATCH -N1 -n1
	#SBATCH hetjob
	#SBATCH -N2 -n2
	echo size $SLURM_HET_SIZE
	srun --het-group=0,1 sh -c 'echo rank $SLURM_PROCID'
	END
  expect output "$(sort "$files/het" | xargs)" 'rank 0 rank 1 rank 2 size 2'
}

srun_multi_prog() {
  printf '0 echo first\n1-3 echo other %%t\n' >"$files/multi"
  expect output "$(ctl srun -N2 -n4 --multi-prog "$files/multi" | sort | xargs)" \
    'first other 1 other 2 other 3'
}

# mpi PLUGIN COMPILER: what the launcher's KVS is for, two nodes exchanging addresses.
mpi() {
  printf '%s\n' '#include <mpi.h>' '#include <stdio.h>' 'int main(int c, char **v) {' \
    'int rank, sum; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);' \
    'MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);' \
    'if (rank == 0) printf("sum %d\n", sum); MPI_Finalize(); }' >"$files/sum.c"
  "$2" -o "$files/sum.$1" "$files/sum.c"
  expect output "$(ctl srun "--mpi=$1" -N2 --ntasks-per-node=2 "$files/sum.$1")" 'sum 6'
}

sbatch_output() {
  ctl sbatch --quiet --wait -N2 -w 'gpu[01-02]' --ntasks-per-node=1 --output="$files/out-%j" --wrap='hostname; srun hostname'
  expect output "$(sort "$files"/out-* | xargs)" 'gpu01 gpu01 gpu02'
}

sbatch_at_once() {
  local job times
  job=$(ctl sbatch --parsable --wait --output=/dev/null --wrap=true)
  times=$(ctl scontrol show job "$job" | grep -oE '(Submit|Start)Time=[^ ]*' | sort | cut -d= -f2 | xargs -I{} date -d {} +%s | xargs)
  [[ $((${times#* } - ${times% *})) -ge -3 ]] || fail "it waited for more than 3 s: started and submitted at $times"
}

salloc_interactive() {
  local out
  out=$(printf 'echo node $(hostname) step $SLURM_STEP_ID\nsrun --input=none printenv SLURM_PROCID | sort | xargs echo ranks\nexit\n' |
    timeout 60 script -qec "$here/on ctl salloc -N2 -w gpu[01-02] --ntasks-per-node=1 bash --norc" /dev/null | tr -d '\r')
  expect_like 'a command without a terminal of its own' "$out" $'*node ctl step\n*'
  out=$(printf 'echo node $(hostname) step $SLURM_STEP_ID\nsrun --input=none printenv SLURM_PROCID | sort | xargs echo ranks\nexit\n' |
    timeout 60 script -qec "$here/on ctl salloc -N2 -w gpu[01-02] --ntasks-per-node=1" /dev/null | tr -d '\r')
  expect_like 'the step' "$out" $'*node gpu01 step 4294967290\n*'
  expect_like 'srun in it' "$out" $'*ranks 0 1\n*'
}

requeue() {
  local id
  id=$(ctl sbatch --parsable --output="$files/requeue" --open-mode=append \
    --wrap="echo restart \${SLURM_RESTART_COUNT-0}; [ -n \"\$SLURM_RESTART_COUNT\" ] || exec sleep 100")
  until_true 10 has_line "$files/requeue" 'restart 0'
  ctl scontrol requeue "$id"
  until_true 30 has_line "$files/requeue" 'restart 1'
  until_true 10 state_is "$id" COMPLETED
}

scancel_soon() {
  local id
  id=$(ctl sbatch --parsable -N4 --output=/dev/null --wrap='srun sleep 100')
  until_true 10 state_is "$id" RUNNING
  ctl scancel "$id"
  until_true 6 state_is "$id" CANCELLED
}

overcommit() {
  expect tasks "$(ctl srun -N4 -n300 --overcommit printenv SLURM_PROCID | sort -nu | wc -l)" 300
}

share_nodes() {
  local first
  first=$(ctl sbatch --parsable -N4 --ntasks-per-node=64 --output=/dev/null --wrap='sleep 100')
  until_true 10 state_is "$first" RUNNING
  expect placement "$(placement -N4 --ntasks-per-node=1)" '0:gpu01 1:gpu02 2:gpu03 3:gpu04'
  expect 'the other job' "$(job_state "$first")" RUNNING
  ctl scancel "$first"
}

memory_unlimited() { ctl srun -N1 --mem=900G true; }

as_another_user() {
  expect user "$(on --user nobody ctl srun -N2 --ntasks-per-node=1 id -un | xargs)" 'nobody nobody'
}

exit_codes() {
  expect_code 3 on ctl srun -N2 sh -c 'exit 3'
}

check_slurm() {
  check 'srun: two tasks on each of four nodes' srun_even
  check 'srun: -N4 -n16' srun_n16
  check 'srun: uneven' srun_uneven
  check 'srun: cyclic' srun_cyclic
  check 'srun: plane=2' srun_plane
  check 'srun: arbitrary' srun_arbitrary
  check 'srun: heterogeneous' srun_het
  check 'srun: --multi-prog' srun_multi_prog
  check 'srun: --mpi=pmix, Open MPI' unless_open_mpi_crashes mpi pmix mpicc.openmpi
  check 'srun: --mpi=pmi2, MPICH' mpi pmi2 mpicc.mpich
  check 'srun: --overcommit' overcommit
  check 'srun: exit code' exit_codes
  check 'srun: as another user' as_another_user
  check 'srun: memory does not limit' memory_unlimited
  check 'sbatch: output file on the shared filesystem' sbatch_output
  check 'sbatch: starts at once' sbatch_at_once
  check 'sbatch: heterogeneous job' sbatch_het
  check 'salloc: interactive step' salloc_interactive
  check 'scontrol requeue' requeue
  check 'scancel: gone soon' scancel_soon
  check 'two jobs on the same nodes' share_nodes
}

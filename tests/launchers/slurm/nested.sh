# Sourced by `run`: what programs see of Slurm where one supervisor starts the ranks of a node, and launchers below them.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034 # the variables are the job's, not ours; lib.sh uses patience
# shellcheck disable=SC2154 # `run` sets here, top and files; `fresh` sets dir and member

# Two ranks on each of the first NODES nodes, each with 4 CPUs, by one supervisor on a node; the same by srun alone. Slurm is told
# which nodes: it takes others while it still ends the step before.
by_node() { step "-N$1" -w "gpu[01-0$1]" --ntasks-per-node=1 -c 8 muster run --nproc-per-node 2 -- "${@:2}"; }
by_task() { step "-N$1" -w "gpu[01-0$1]" --ntasks-per-node=2 -c 4 "${@:2}"; }

# in_rank RANK NODES SCRIPT: in that rank alone; the others wait until it is done.
in_rank() {
  by_node "$2" sh -c '[ "$RANK" = "$1" ] || exec sh -c "while [ ! -e $3/done ]; do sleep 0.1; done"
    eval "$2"; code=$?; touch "$3/done"; exit $code' sh "$1" "$3" "$dir"
}

readonly of_tasks='CPUS_PER_TASK GTIDS LOCALID NNODES NODEID NPROCS NTASKS NTASKS_PER_NODE PROCID STEP_NODELIST STEP_NUM_NODES
  STEP_NUM_TASKS STEP_TASKS_PER_NODE TASKS_PER_NODE'

# Every rank finds what it would find, were it a task of its own.
as_tasks() {
  fresh
  local print='for name in $1; do eval "echo \$SLURM_PROCID $name \$SLURM_$name"; done'
  by_node 3 sh -c "$print" sh "$of_tasks" >"$dir/by_node"
  by_task 3 sh -c "$print" sh "$of_tasks" >"$dir/by_task"
  expect 'lines' "$(wc -l <"$dir/by_node")" $((6 * $(wc -w <<<"$of_tasks")))
  expect 'what is different' "$(diff <(sort "$dir/by_node") <(sort "$dir/by_task"))" ''
}

outer_is_kept() {
  fresh
  expect 'what Slurm had said' "$(by_node 2 sh -c \
    'echo "$RANK $MUSTER_OUTER_SLURM_PROCID/$MUSTER_OUTER_SLURM_NTASKS ${SLURM_TASK_PID-gone} ${MUSTER_OUTER_SLURM_TASK_PID:+kept}"' |
    sort)" $'0 0/2 gone kept\n1 0/2 gone kept\n2 1/2 gone kept\n3 1/2 gone kept'
}

# A rank's share of what the task was given, and no more than that.
threads_of_ranks() {
  local cpus
  cpus=$(nproc)
  fresh
  expect 'threads' "$(unset OMP_NUM_THREADS && step -N1 --ntasks-per-node=1 -c 2 muster run --nproc-per-node 2 -- sh -c 'echo "$OMP_NUM_THREADS"' |
    xargs)" '1 1'
  expect 'threads of tasks' "$(unset OMP_NUM_THREADS && step -N1 --ntasks-per-node=2 -c 1 muster run -- sh -c 'echo "$OMP_NUM_THREADS"' |
    xargs)" '1 1'
  expect 'threads of one' "$(unset OMP_NUM_THREADS && step -N1 -n1 -c "$cpus" muster run -- sh -c 'echo "$OMP_NUM_THREADS"')" "$cpus"
  expect 'the word in the log' "$(unset OMP_NUM_THREADS && muster launch -n 2 --set log.level=debug -- true 2>&1 | grep -c 'OMP_NUM_THREADS=')" 2
}

# A step of two independent groups: each is true of itself.
group_on_each_node() {
  fresh
  step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 muster launch -n 2 -- sh -c \
    'echo "$MUSTER_NODE $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID/$SLURM_NNODES $SLURM_STEP_NODELIST"' >"$dir/out" 2>"$dir/err"
  expect 'two groups' "$(sort "$dir/out")" \
    $'gpu01 0/2 0/1 gpu01\ngpu01 1/2 0/1 gpu01\ngpu02 0/2 0/1 gpu02\ngpu02 1/2 0/1 gpu02'
  expect_like 'the one warning' "$(words "$dir/err")" \
    'muster: warning: slurm started 2 processes of muster launch, and each starts a group of its own: 2 groups of 2 ranks *'
  MUSTER_LAUNCHER=none step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 muster launch -n 2 -- true 2>"$dir/err"
  expect 'without it' "$(words "$dir/err")" ''
}

# On a machine with srun, a run without a launcher is seldom meant: unless --launcher none is given, or the ranks
# are started here.
run_without_launcher() {
  fresh
  local said
  for said in 'run' 'run --launcher none' 'run --nproc-per-node 2' 'once'; do
    # shellcheck disable=SC2086 # words
    ctl muster $said -- true 2>"$dir/err"
    expect_like "the warnings of $said" "$(words "$dir/err")" "$([[ $said == run ]] &&
      echo 'muster: warning: no launcher started this process: it is a world of one (*')"
  done
}

resolves_below() {
  fresh
  by_node 2 sh -c 'muster resolve --json >"$1/tuples/$RANK"' sh "$dir"
  expect_resolved muster 4
  expect 'warnings' "$(cat "$dir"/tuples/* | grep -c '"warnings":\[\]')" 4
  by_node 2 env TOLD='- -' "${member[@]}"
  evaluated 4
}

launch_below() {
  fresh
  in_rank 3 2 "muster launch -n 3 -- env TOLD='- -' ${member[*]}"
  evaluated 3
}

none_below() {
  fresh
  expect 'a world of one' "$(in_rank 3 2 'muster run --launcher none -- sh -c "echo \$RANK/\$WORLD_SIZE; muster resolve" | head -n 2')" \
    $'0/1\nrank 0 of 1, started by torch-env'
}

# Flags say more than SLURM_NTASKS, which srun would take for them.
srun_below() {
  fresh
  expect 'flags' "$(in_rank 3 2 'srun --overlap -N1 -n1 -w gpu02 sh -c "echo \$SLURM_PROCID/\$SLURM_NTASKS; muster resolve | head -n 1"')" \
    $'0/1\nrank 0 of 1, started by slurm'
  fresh
  expect 'no flags' "$(in_rank 3 2 'env -u SLURM_NTASKS -u SLURM_NPROCS -u SLURM_NTASKS_PER_NODE srun --overlap hostname' | sort | xargs)" \
    'gpu01 gpu02'
  fresh
  in_rank 3 2 "srun --overlap -N2 -n4 -w 'gpu[01-02]' muster run -- ${member[*]}" 2>"$dir/err" || fail "$(cat "$dir/err")"
  evaluated 4
  expect 'warnings' "$(grep -c 'left over' "$dir/err")" 0
}

# It finds its own launcher, although muster once is a world of one.
srun_below_once() {
  fresh
  expect 'ranks' "$(step -N1 -n2 -w gpu01 muster once -- srun --overlap -N1 -n2 -w gpu01 sh -c 'muster resolve | head -n 1' | sort)" \
    $'rank 0 of 2, started by slurm\nrank 1 of 2, started by slurm'
}

# Each is a world of one, and no task of the step.
launch_of_one() {
  fresh
  expect 'ranks' "$(step -N1 -n2 -w gpu01 muster launch -n 1 -- sh -c 'muster resolve | head -n 1' 2>/dev/null | uniq -c | xargs)" \
    '2 rank 0 of 1, started by torch-env'
}

sbatch_below() {
  fresh
  printf '%s\n' '#!/bin/bash' "srun muster run -- ${member[*]}" "touch $dir/over" >"$dir/script"
  in_rank 3 2 "sbatch -w 'gpu[03-04]' -N2 -n4 --ntasks-per-node=2 -o $dir/out $dir/script" >"$dir/said"
  until_true 60 test -e "$dir/over" || fail "$(cat "$dir/out")"
  evaluated 4
}

torchrun_below() {
  fresh
  in_rank 3 2 "torchrun --no-python --standalone --nproc-per-node 2 $here/as_rank $dir"
  expect_resolved torchrun 2
  evaluated 2
}

mpirun_below() {
  fresh
  "$2" "$here/mpi_sum.c" -o "$dir/sum"
  expect_output 'output' 'sum 1 of 2' in_rank 1 1 "$1 -n 2 $dir/sum"
}

# mpiexec starts its proxies as a step of their own, also on its own node. As many ranks as those of the muster run around it.
ranks_of_mpiexec_below() {
  fresh
  step -N2 -n2 -w 'gpu[01-02]' muster run -- sh -c '[ "$RANK" = 0 ] || exec sh -c "while [ ! -e $1/done ]; do sleep 0.1; done"
    TOLD="- -" SLURM_OVERLAP=1 mpirun.mpich -n 2 -ppn 1 "$2" "$1"; code=$?; touch "$1/done"; exit $code' sh "$dir" "$here/as_rank"
  expect_resolved hydra 2
  evaluated 2
}

# On the second node the proxy has a part of the variables of the step of mpiexec.
mpiexec_in_a_step() {
  as_ranks hydra 4 ctl salloc --quiet -N2 -n4 -w 'gpu[01-02]' \
    env TOLD='- -' SLURM_OVERLAP=1 srun --overlap -N1 -n1 -w gpu01 mpirun.mpich -n 4 -ppn 2
}

# In one task of each step the numbers are those of the rank that has called srun.
srun_below_mpirun() {
  fresh
  expect 'ranks' "$(ctl salloc --quiet -N2 -n4 -w 'gpu[01-02]' env SLURM_OVERLAP=1 "$@" sh -c \
    'srun --overlap -N1 -n2 --ntasks-per-node=2 sh -c "muster resolve | head -n 1; true"' 2>/dev/null | sort | uniq -c | xargs)" \
    '2 rank 0 of 2, started by slurm 2 rank 1 of 2, started by slurm'
}

# A launch of one in each rank of mpirun is a world of one, and no rank of mpirun.
launch_of_one_below_mpirun() {
  fresh
  expect 'ranks' "$(on gpu01 "$@" -n 2 muster launch -n 1 -- sh -c 'muster resolve | head -n 1' 2>/dev/null | uniq -c | xargs)" \
    '2 rank 0 of 1, started by torch-env'
}

mpirun_below_once() {
  fresh
  expect 'ranks' "$(step -N2 -n2 -w 'gpu[01-02]' muster once -- env SLURM_OVERLAP=1 mpirun.mpich -n 2 sh -c 'muster resolve | head -n 1' |
    sort)" $'rank 0 of 2, started by hydra\nrank 1 of 2, started by hydra'
}

ranks_of_mpirun_below() {
  fresh
  in_rank 1 1 "TOLD='- -' mpirun.openmpi --oversubscribe -n 3 $here/as_rank $dir"
  expect_resolved openmpi 3
  evaluated 3
}

# Nobody serves several ranks: each is a world of one, as without any launcher.
mpi_init_below() {
  fresh
  mpicc.mpich "$here/mpi_sum.c" -o "$dir/sum"
  expect 'worlds' "$(step --mpi=pmi2 -N2 --ntasks-per-node=1 muster run --nproc-per-node 2 -- "$dir/sum" 2>"$dir/err" | sort | uniq -c |
    xargs)" '4 sum 0 of 1'
  expect 'warnings' "$(grep -c "warning: $dir/sum is an MPI program (libmpich.so.12): each of the 2 ranks" "$dir/err")" 1
  timeout 60 muster launch -n 2 -- "$dir/sum" >"$dir/out" 2>"$dir/err"
  expect 'warnings of launch' "$(grep -c 'is an MPI program' "$dir/err")" 1
}

# Scripts choose a device by the local rank.
under_mpirun() {
  fresh
  expect 'local ranks' "$(on gpu01 "$1" -n 1 muster run --nproc-per-node 3 -- sh -c "echo \"\$RANK \$$2 \${$3-gone}\"" | sort | xargs)" \
    '0 0 gone 1 1 gone 2 2 gone'
}

# take_us_for FRAMEWORK...: what they take each process for, in one program: rank/size local/local-size, and the sum that they
# find together.
take_us_for() {
  local framework
  fresh
  by_node 2 python "$here/python/frameworks.py" "$dir/ranks" "$@" >"$dir/out" 2>&1 || fail "$(tail -n 20 "$dir/out")"
  for framework; do
    expect "$framework" "$(cat "$dir/ranks/$framework".?)" $'0/4 0/2 6\n1/4 1/2 6\n2/4 0/2 6\n3/4 1/2 6'
  done
}

check_nested() {
  local patience=120 PATH=$PATH
  export PATH
  check 'nested: ranks of one supervisor see what tasks would' as_tasks
  check 'nested: what Slurm had said is kept' outer_is_kept
  check 'nested: threads' threads_of_ranks
  check 'nested: a group on each node of a step' group_on_each_node
  check 'nested: muster run without a launcher' run_without_launcher
  check 'nested: muster below' resolves_below
  check 'nested: muster launch below' launch_below
  check 'nested: a world of one below' none_below
  check 'nested: srun below' srun_below
  check 'nested: srun below muster once' srun_below_once
  check 'nested: muster launch of one rank in each task' launch_of_one
  check 'nested: muster launch of one rank, for each rank of Open MPI' launch_of_one_below_mpirun mpirun.openmpi --oversubscribe
  check 'nested: muster launch of one rank, for each rank of MPICH' launch_of_one_below_mpirun mpirun.mpich
  check 'nested: sbatch below' sbatch_below
  check 'nested: mpirun of Open MPI below' mpirun_below 'mpirun.openmpi --oversubscribe' mpicc.openmpi
  check 'nested: mpirun of MPICH below' mpirun_below 'env SLURM_OVERLAP=1 mpirun.mpich' mpicc.mpich
  check 'nested: muster below mpirun of Open MPI below' ranks_of_mpirun_below
  check 'nested: muster below mpirun of MPICH below, on two nodes' ranks_of_mpiexec_below
  check 'nested: muster below mpirun of MPICH in a step of one task' mpiexec_in_a_step
  check 'nested: srun below mpirun of Open MPI' srun_below_mpirun mpirun.openmpi --oversubscribe -n 2
  check 'nested: srun below mpirun of MPICH' srun_below_mpirun mpirun.mpich -n 2
  check 'nested: mpirun of MPICH below muster once' mpirun_below_once
  check 'nested: MPI_Init below' mpi_init_below
  check 'nested: under mpirun of Open MPI' under_mpirun mpirun.openmpi OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_RANK
  check 'nested: under mpirun of MPICH' under_mpirun mpirun.mpich MPI_LOCALRANKID PMI_RANK
  check 'nested: ignite and submitit' "$top/tests/python/venv" frameworks
  PATH=$("$top/tests/python/venv")/bin:$PATH check 'nested: torchrun below' torchrun_below
  PATH=$("$top/tests/python/venv" frameworks 2>/dev/null)/bin:$PATH || return 0
  check 'nested: ignite, Lightning and submitit' take_us_for ignite lightning submitit
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'nested: mmengine' take_us_for mmengine
  check 'nested: JAX is there' "$top/tests/python/venv" eval
  PATH=$("$top/tests/python/venv" eval 2>/dev/null)/bin:$PATH || return 0
  check 'nested: JAX' take_us_for jax
}

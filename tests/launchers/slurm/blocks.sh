# Sourced by `run`: one process of a node that stands for several ranks, groups that start again, and `muster once`.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# Its programs' own launcher is muster: what Slurm says of the one task is made true of each rank.
one_task_a_node() {
  fresh
  step -N3 --ntasks-per-node=1 muster run --nproc-per-node 4 -- env TOLD='- -' "${member[@]}"
  evaluated 12
  step -N3 --ntasks-per-node=1 muster run --nproc-per-node 2 -- sh -c \
    'echo "$RANK $NODE_RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE ${SLURM_PROCID-none} $SLURM_JOB_ID"' >"$dir/out"
  expect 'what Slurm says of the task' "$(awk '$1 != $6' "$dir/out")" ''
  expect 'nodes of the ranks' "$(sort -n "$dir/out" | cut -d' ' -f1-5)" \
    $'0 0 0 2 3\n1 0 1 2 3\n2 1 0 2 3\n3 1 1 2 3\n4 2 0 2 3\n5 2 1 2 3'
}

several_tasks_a_node() {
  fresh
  expect_code 64 step -N2 --ntasks-per-node=2 muster run --nproc-per-node 2 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" \
    '*--nproc-per-node 2 starts the ranks of a node, but slurm started 2 processes on gpu0[12] (start one on each node*'
}

# Also those that come when the others have gone.
uneven_blocks() {
  fresh
  expect_code 76 step -N3 --ntasks-per-node=1 sh -c 'exec muster run --nproc-per-node $((SLURM_PROCID + 1)) -- true' 2>"$dir/err"
  expect 'told once' "$(grep -c '^muster: .* error: the ranks disagree on the world size: ' "$dir/err")" 1
  expect_like 'exit codes' "$(grep -c 'Exited with exit code 76' "$dir/err")" 3
}

# refused_on_gpu02 SCRIPT RANKS: each of three processes stands for RANKS; SCRIPT, on gpu02, brings it into the wrong.
refused_on_gpu02() {
  fresh
  step -N3 -w 'gpu[01-03]' --ntasks-per-node=1 sh -c 'dir=$1; [ "$SLURMD_NODENAME" != gpu02 ] || eval "$2"
    muster run --nproc-per-node "$3" --report "$dir/report" -- touch "$dir/ran" 2>"$dir/err.$SLURM_PROCID"
    echo $? >"$dir/code.$SLURM_PROCID"' sh "$dir" "$@"
  expect_code 1 test -e "$dir/ran"
}

# Its number among the processes is none of a rank: the node is named, and of the ranks the first.
refused_block() {
  refused_on_gpu02 'export MUSTER_TIMEOUTS_COLLECTIVE=soon' 4
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '78 78 78'
  expect_like 'what the root said' "$(words "$dir/err.0")" \
    'muster: ranks 0-3 on gpu01: error: gpu02 was refused: MUSTER_TIMEOUTS_COLLECTIVE: "soon" is not a duration*'
  expect_like 'what it said itself' "$(words "$dir/err.1")" 'muster: gpu02: error: MUSTER_TIMEOUTS_COLLECTIVE: "soon" is not a duration*'
  expect_like 'what others said' "$(words "$dir/err.2")" \
    'muster: ranks 8-11 on gpu03: error: gpu02 was refused: MUSTER_TIMEOUTS_COLLECTIVE: "soon" is not a duration*'
  expect 'who it was, in the report' "$(field "$dir/report" '["failure"]["rank"], r["failure"]["node"]')" "(4, 'gpu02')"
}

# Nobody knows which ranks would have been there.
block_without_gpus() {
  CUDA_VISIBLE_DEVICES=0,1 refused_on_gpu02 'export CUDA_VISIBLE_DEVICES=' gpu
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '64 64 64'
  expect_like 'what the root said' "$(words "$dir/err.0")" \
    'muster: ranks 0-1 on gpu01: error: gpu02 was refused: --nproc-per-node gpu: this node has no GPU that this process may use*'
  expect 'who it was, in the report' "$(field "$dir/report" '["failure"]["rank"], r["failure"]["node"]')" '(None, None)'
}

one_node() {
  local text
  fresh
  for text in gpu auto; do
    expect "ranks by $text" "$(CUDA_VISIBLE_DEVICES=0,1 timeout 30 muster run --nproc-per-node $text -- \
      sh -c 'echo "$RANK/$WORLD_SIZE"' | sort | xargs)" '0/2 1/2'
  done
  expect 'ranks' "$(timeout 30 muster run --nproc-per-node 3 -- sh -c 'echo "$RANK/$WORLD_SIZE"' | sort | xargs)" '0/3 1/3 2/3'
  expect_code 64 timeout 30 muster run --nproc-per-node many -- true 2>"$dir/err"
  expect message "$(cat "$dir/err")" \
    'muster: error: --nproc-per-node "many" is not a number of ranks (1 to 4096) (write a number, gpu, cpu or auto)'
}

# A group of one process belongs to its job, too.
status_of_one_node() {
  fresh
  step -N1 -n1 sh -c 'echo "slurm:$SLURM_JOB_ID.$SLURM_STEP_ID:0"; exec muster run --nproc-per-node 2 -- sh -c \
    "[ \$RANK != 0 ] || muster status --json"' >"$dir/out"
  expect job "$(python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["groups"][0]["job"])' < <(tail -n +2 "$dir/out"))" \
    "$(head -n 1 "$dir/out")"
}

# No Slurm: each machine has its own command.
machines() {
  fresh
  local pids=() rank
  for rank in 2 0 1; do
    on "gpu0$((rank + 1))" muster launch --nnodes 3 --node-rank "$rank" --endpoint gpu01:61000 -n 2 -- \
      env TOLD='- -' "${member[@]}" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank"; done
  evaluated 6
}

machines_without_endpoint() {
  fresh
  expect_code 64 timeout 30 muster launch -n 2 --nnodes 2 --node-rank 0 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" 'muster: error: --nnodes 2 needs --endpoint (*'
  expect_code 64 timeout 30 muster launch -n 2 --nnodes 2 --node-rank 2 --endpoint gpu01:61000 -- true 2>"$dir/err"
  expect message "$(cat "$dir/err")" 'muster: error: --node-rank 2 is not below --nnodes 2 (correct it: machines count from 0)'
}

starts_again() {
  fresh
  step -N3 --ntasks-per-node=2 muster run --max-restarts 3 -- sh -c '
    echo "$RANK $MUSTER_GROUP" >>"$1/tries"
    [ "$TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS" != 2/3 ] || exit 0
    [ "$RANK" != 4 ] || exit 5
    exec sleep 60' sh "$dir" 2>"$dir/err"
  expect 'starts of rank 4' "$(grep -c '^4 ' "$dir/tries")" 3
  expect 'groups' "$(cut -d' ' -f2 "$dir/tries" | sort -u | wc -l)" 3
  expect_like log "$(cat "$dir/err")" '*: starting again: restart 1 of 3*: starting again: restart 2 of 3*'
}

ends_after_the_last() {
  fresh
  expect_code 5 step -N2 --ntasks-per-node=2 muster run --max-restarts 1 -- \
    sh -c 'echo "$RANK" >>"$1/tries"; [ "$RANK" != 1 ] || exit 5; exec sleep 60' sh "$dir" 2>"$dir/err"
  expect 'starts of rank 1' "$(grep -c '^1$' "$dir/tries")" 2
}

# Whoever is told to end does not start again, whatever its program makes of it.
told_to_end() {
  fresh
  local job
  job=$(ctl sbatch --parsable -N2 --ntasks-per-node=2 -o "$dir/err" --wrap \
    "srun muster run --max-restarts 5 -- sh -c 'echo \$RANK >>$dir/tries; $1'")
  until_true 20 has_lines "$dir/tries" 4
  ctl scancel -s TERM "$job.0"
  until_true 20 ended "$job"
  expect starts "$(wc -l <"$dir/tries")" 4
  expect_like message "$(cat "$dir/err")" "$2"
}

# Slurm signals a whole tree one by one: a program may have ended before its supervisor hears of it. Only rank 1's
# are told here, the others by the group.
told_after_the_program() {
  fresh
  local code text='terminated: rank 1 on gpu01 received SIGTERM'
  for _ in 1 2 3 4 5; do
    fresh
    code=0
    step -w 'gpu[01-02]' -N2 --ntasks-per-node=2 muster run --max-restarts 5 -- sh -c 'echo $RANK >>"$1/tries"
      [ $RANK != 1 ] || setsid sh -c "while [ \$(wc -l <$1/tries) -lt 4 ]; do :; done; kill -TERM $$; kill -TERM $PPID"
      exec sleep 60' sh "$dir" 2>"$dir/err" || code=$?
    expect 'exit code' "$code" 143
    expect starts "$(wc -l <"$dir/tries")" 4
    expect_like message "$(cat "$dir/err")" "*error: $text*"
  done
}

# One that hears of it only while the group ends of another failure: the others do not wait for it.
told_while_ending() {
  fresh
  local code=0
  step -w 'gpu[01-02]' -N2 --ntasks-per-node=2 muster run --max-restarts 5 -- sh -c '
    [ $RANK != 3 ] || trap "kill -TERM $PPID; exit 0" TERM
    echo $RANK >>"$1/tries"
    while [ $(wc -l <"$1/tries") -lt 4 ]; do :; done
    [ $RANK != 0 ] || exit 5
    sleep 60 & wait' sh "$dir" 2>"$dir/err" || code=$?
  expect 'exit code' "$code" 69
  expect starts "$(wc -l <"$dir/tries")" 4
  expect_like message "$(cat "$dir/err")" '*rank 0 on gpu01 failed: exit 5*: error: terminated: rank 3 on gpu02 received SIGTERM*'
}
has_lines() { [[ -e $1 && $(wc -l <"$1") -ge $2 ]]; }
ended() { [[ -z $(ctl squeue -h -j "$1" 2>/dev/null) ]]; }

restarts_differ() {
  fresh
  expect_code 76 step -N2 --ntasks-per-node=1 sh -c 'exec muster run --max-restarts $SLURM_PROCID -- true' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*the configurations differ in max-restarts: rank 1 on gpu02 has 1, rank 0 on gpu01 has 0*'
}

once_for_all() {
  fresh
  step -N3 --ntasks-per-node=2 sh -c 'muster once -- sh -c "echo \$RANK/\$WORLD_SIZE on \$(uname -n) >>$1/staged" &&
    cat "$1/staged" >"$1/ranks/$SLURM_PROCID"' sh "$dir"
  expect 'staged' "$(cat "$dir/staged")" '0/1 on gpu01'
  expect 'ranks that saw it' "$(cat "$dir"/ranks/* | grep -c '0/1 on gpu01')" 6
}

once_per_node() {
  fresh
  step -N3 --ntasks-per-node=2 sh -c 'muster once --per-node -- sh -c "echo \$(uname -n) >>$1/staged" &&
    exec muster run -- "$2/member" "$1"' sh "$dir" "$here"
  expect 'staged' "$(sort "$dir/staged" | xargs)" 'gpu01 gpu02 gpu03'
  evaluated 6
}

once_fails() {
  fresh
  expect_code 7 step -N2 --ntasks-per-node=2 sh -c 'muster once -- sh -c "exit 7"; code=$?; echo $code >"$1/ranks/$SLURM_PROCID"; exit $code' \
    sh "$dir" 2>"$dir/err"
  expect 'exit codes' "$(sort "$dir"/ranks/* | uniq -c | xargs)" '4 7'
  expect_like message "$(cat "$dir/err")" '*rank 0 on gpu01 failed: exit 7*'
}

check_blocks() {
  check 'blocks: run --nproc-per-node, one task a node' one_task_a_node
  check 'blocks: run --nproc-per-node, several tasks a node' several_tasks_a_node
  check 'blocks: run --nproc-per-node, uneven' uneven_blocks
  check 'blocks: run --nproc-per-node, refused on one node' refused_block
  check 'blocks: run --nproc-per-node gpu, a node without' block_without_gpus
  check 'blocks: run --nproc-per-node, one machine' one_node
  check 'blocks: run --nproc-per-node, the status of one node' status_of_one_node
  check 'blocks: launch on three machines' machines
  check 'blocks: launch on several machines, usage' machines_without_endpoint
  check 'restarts: until it works' starts_again
  check 'restarts: until there are no more' ends_after_the_last
  check 'restarts: not when told to end' told_to_end 'exec sleep 60' '*terminated: rank * on gpu0? received SIGTERM*'
  check 'restarts: not when told to end, another exit code' told_to_end 'trap "exit 1" TERM; sleep 60 & wait' '*failed: exit 1*'
  check 'restarts: not when told to end, the program first' told_after_the_program
  check 'restarts: not when one was told to end meanwhile' told_while_ending
  check 'restarts: must agree' restarts_differ
  check 'once: for all ranks' once_for_all
  check 'once: on each node, then a run' once_per_node
  check 'once: fails' once_fails
}

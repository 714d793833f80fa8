# Sourced by `run`: one rank cannot be part of the group. All end at once, with the same reason, instead of waiting for it.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# six SCRIPT COMMAND...: six ranks on three nodes; SCRIPT, which may change its environment, comes before COMMAND. Behind a
# shell, so that nothing proves that Slurm started muster itself. With each=1: three.
six() {
  fresh
  step -N3 -w 'gpu[01-03]' --ntasks-per-node="${each:-2}" sh -c 'dir=$1 script=$2; shift 2; eval "$script"
    "$@" >"$dir/out.$SLURM_PROCID" 2>"$dir/err.$SLURM_PROCID"; echo $? >"$dir/code.$SLURM_PROCID"' sh "$dir" "$@"
}

# What a rank said, without its own name and without who was refused: the same for all.
reasons() { sed -n 's/^muster: rank [0-5] on gpu0[1-3]: error: \(rank [0-5] on gpu0[1-3] was refused: \)\?//p' "$dir"/err.?; }

# ended_together CODE REASON: the deadline's code would be 75. Each says it, because each has a log of its own.
ended_together() {
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" "$1 $1 $1 $1 $1 $1"
  expect 'errors of each rank' "$(grep -c ': error: ' "$dir"/err.? | cut -d: -f2 | xargs)" '1 1 1 1 1 1'
  # shellcheck disable=SC2053 # a pattern
  [[ $(reasons | sort -u) == $2 ]] || fail "they said $(reasons | sort -u), not $2"
  expect_code 1 test -e "$dir/ran"
  nothing_remains
}

readonly stale='export RANK=0 LOCAL_RANK=0 WORLD_SIZE=6'

# The first to be refused is the reason for all; rank 0 alone cannot see that its RANK is stale.
names_the_stale_rank() {
  ended_together 65 "slurm gives rank [1-5] of 6 (SLURM_PROCID=[1-5], SLURM_STEP_NUM_TASKS=6), but torch-env gives rank 0 of 6 $(
    )(RANK=0, WORLD_SIZE=6), and neither started the other (look for an \"export RANK\" in the batch script or a profile $(
    )and remove it, or force the right one with MUSTER_LAUNCHER=slurm (also --launcher slurm, or launcher: slurm in the $(
    )configuration) or torch-env)*"
  expect_like 'what rank 0 said' "$(words "$dir/err.0")" \
    'muster: rank 0 on gpu01: error: rank [1-5] on gpu0[1-3] was refused: slurm gives *'
}

stale_in_run() {
  six "$stale" "${run[@]}"
  names_the_stale_rank
}

stale_in_check() {
  six "$stale" muster check
  names_the_stale_rank
}

stale_in_check_json() {
  six "$stale" muster check --json
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '65 65 65 65 65 65'
  expect 'objects' "$(cat "$dir"/out.? | wc -l)" 1
  expect_like 'what rank 0 printed' "$(cat "$dir/out.0")" '{"error":{"code":"bad_environment","message":"rank * was refused: *'
}

# Init() in a program that srun starts itself.
stale_in_a_program() {
  six "$stale" bazel-bin/deploy/examples/digits
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '65 65 65 65 65 65'
  expect_like 'what rank 0 said' "$(words "$dir/err.0")" '*rank [1-5] on gpu0[1-3] was refused: slurm gives rank *'
}

# Exported before the step: to task 0 the numbers look like those of a process that mp.spawn started in it.
stale_larger_world() {
  RANK=0 LOCAL_RANK=0 WORLD_SIZE=6 MASTER_ADDR=gpu01 MASTER_PORT=29500 each=1 six true "${run[@]}"
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '65 65 65'
  expect_like 'what rank 0 said' "$(words "$dir/err.0")" \
    'muster: rank 0 on gpu01: error: slurm gives rank 0 of 3 (*), but torch-env gives rank 0 of 6 (RANK=0, WORLD_SIZE=6), and neither *'
  expect_code 1 test -e "$dir/ran"
  nothing_remains
}

# Of the root as well.
all_are_refused() {
  six 'export WORLD_SIZE=8' "${run[@]}"
  ended_together 65 'WORLD_SIZE=8 is set, but slurm gives rank [0-5] of 6 (SLURM_PROCID=[0-5], SLURM_STEP_NUM_TASKS=6) (unset it, *'
}

# bad_setting RANK: what is wrong with its configuration is known to all.
bad_setting() {
  six "[ \$SLURM_PROCID != $1 ] || export MUSTER_TIMEOUTS_COLLECTIVE=soon" "${run[@]}"
  ended_together 78 'MUSTER_TIMEOUTS_COLLECTIVE: "soon" is not a duration: *'
}

# What all ranks write into one pipe is told there once, by the root.
told_once() {
  fresh
  expect_code 78 step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 sh -c \
    '[ $SLURM_PROCID != 4 ] || export MUSTER_TIMEOUTS_COLLECTIVE=soon; exec muster run -- true' 2>"$dir/err"
  expect_like 'what was said' "$(grep '^muster: .*: error: ' "$dir/err")" \
    'muster: rank 0 on gpu01: error: rank 4 on gpu03 was refused: MUSTER_TIMEOUTS_COLLECTIVE: "soon" is not a duration: *'
  expect 'errors' "$(grep -c '^muster: .*: error: ' "$dir/err")" 1
}

# A node where the file is not there; where to meet is in the variables, which are.
missing_file() {
  echo 'timeouts: {collective: 1h}' >"$files/there.yaml"
  MUSTER_RENDEZVOUS_PORTS=61500-61501 six \
    'export MUSTER_CONFIG=$dir/../there.yaml; [ $SLURMD_NODENAME != gpu02 ] || MUSTER_CONFIG=nowhere.yaml' \
    "${run[@]}"
  ended_together 78 'cannot read nowhere.yaml: No such file or directory (give a file that this user can read; a relative path begins at *)'
}

# Munge is there to prove who says it.
bad_secret() {
  six '[ $SLURM_PROCID != 4 ] || export MUSTER_SECRET=short' "${run[@]}"
  ended_together 78 'MUSTER_SECRET *'
}

# elsewhere VARIABLE=VALUE...: nobody is where all look for rank 0 but the leader of that node.
elsewhere() {
  six true env "$@" "${run[@]}"
  ended_together 78 "rank 0 runs on gpu01 and must be reached there, but gpu03 is 198.18.1.3, which is not an address of $(
    )that node (set MASTER_ADDR or rendezvous.endpoint to the node of rank 0)"
}

master_elsewhere() {
  six 'set -- "$here/by_hand" gpu03 "$@"' "${run[@]}"
  ended_together 78 "rank 0 runs on gpu01 and must be reached there, but gpu03 is 198.18.1.3, which is not an address of $(
    )that node (set MASTER_ADDR or rendezvous.endpoint to the node of rank 0)"
}

# Where nobody listens nobody can be told; rank 0 and its node still know at once.
master_nowhere() {
  MUSTER_TIMEOUTS_RENDEZVOUS=8s six 'set -- "$here/by_hand" gpu04 "$@"' "${run[@]}"
  expect 'exit codes' "$(cat "$dir"/code.? | xargs)" '78 78 75 75 75 75'
  expect_like 'what the leader of gpu03 said' "$(cat "$dir/err.4")" '*the root, rank 0 on gpu04, did not answer within 8s; *'
}

# Another rank of the same step is still in the group before: who is early is not heard before that has ended.
early_for_the_next() {
  fresh "$files/check" "$files/gate"
  shut_gate
  step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 sh -c 'gate=$1 place=$2 here=$3
    [ "$SLURM_PROCID" != 2 ] || set -- "$here/at_gate" "$gate"
    [ "$SLURM_PROCID" = 2 ] || set --
    muster run -- "$@" "$here/member" "$place" true || exit
    : >"$gate/$SLURM_PROCID.done"
    [ "$SLURM_PROCID" != 1 ] || export MUSTER_TIMEOUTS_COLLECTIVE=soon
    muster run -- true 2>"$place/err.$SLURM_PROCID"; echo $? >"$place/code.$SLURM_PROCID"' \
    sh "$files/gate" "$files/check" "$here" &
  until_true 20 has_files "$files/gate/waiting" 1
  until_true 20 test -e "$files/gate/1.done" -a -e "$files/gate/3.done"
  open_gate
  wait $!
  expect 'exit codes' "$(cat "$files"/check/code.? | xargs)" '78 78 78 78'
}

check_refusals() {
  export here
  run=(muster run -- touch "$files/check/ran")
  check 'refused: a stale RANK behind a shell' stale_in_run
  check 'refused: a stale RANK, muster check' stale_in_check
  check 'refused: a stale RANK, muster check --json' stale_in_check_json
  check 'refused: a stale RANK, Init()' stale_in_a_program
  check 'refused: a stale RANK of a larger world, one task a node' stale_larger_world
  check 'refused: all ranks' all_are_refused
  check 'refused: a bad setting of the root' bad_setting 0
  check 'refused: a bad setting of a rank beside it' bad_setting 1
  check 'refused: a bad setting of a leader' bad_setting 2
  check 'refused: a bad setting of a rank behind it' bad_setting 5
  check 'refused: told once where all write into one pipe' told_once
  check 'refused: no file on one node' missing_file
  check 'refused: a bad secret of one rank' bad_secret
  check 'refused: MASTER_ADDR of another node than that of rank 0' master_elsewhere
  check 'refused: an endpoint on another node than that of rank 0' elsewhere MUSTER_RENDEZVOUS_ENDPOINT=gpu03:61900
  begin 'refused: MASTER_ADDR of a node without ranks' master_nowhere
  check 'refused: while the group before is still at work' early_for_the_next
  finish_begun
}

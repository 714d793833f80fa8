# Sourced by `run`: PyTorch programs, unchanged, under muster run and the store that it serves.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here and files; `fresh` sets dir

# by_torch NODES RANKS_EACH PROGRAM...: its standard output. PyTorch's own remark about names is left out.
by_torch() {
  local code=0 said
  said=$(mktemp "$files/said.XXXXXX")
  step -N"$1" --ntasks-per-node="$2" --overcommit muster run -- "${@:3}" 2>"$said" || code=$?
  grep -v 'hostname of the client' "$said" >&2 || true
  return "$code"
}

sums() { expect_output output "sum $(($1 * $2 * ($1 * $2 - 1) / 2)) of $(($1 * $2))" by_torch "$1" "$2" python "$here/python/gloo.py"; }

# Its loss is that of one process.
trains() {
  local alone
  alone=$(on gpu01 muster run -- python "$here/python/ddp.py")
  expect_like 'loss of one' "$alone" 'loss 0.*'
  for nodes in 2 ${MUSTER_TESTS_LONG:+4}; do expect_output "loss on $nodes nodes" "$alone" by_torch "$nodes" 1 python "$here/python/ddp.py"; done
}

# Each program of a rank meets the same program of the others, with a store of their own.
programs_in_turn() {
  expect_output output $'a: sum 1 of 2\nb: sum 1 of 2'"${MUSTER_TESTS_LONG:+$'\nc: sum 1 of 2'}" \
    by_torch 2 1 sh -c 'set -e; python "$1" a; python "$1" b a; ${2:+python "$1" c a b}' sh \
    "$here/python/program_after.py" "${MUSTER_TESTS_LONG-}"
}

# Process groups that follow one another in one program; "What happens beside" is in group_rounds.py.
rounds() { expect_output output "$3 rounds of $(($1 * $2))" by_torch "$1" "$2" python "$here/python/group_rounds.py" "${@:3}"; }
rounds_of_all_kinds() {
  [[ -z ${MUSTER_TESTS_LONG-} ]] || rounds 2 2 5
  rounds 2 2 3 subgroups published slow
  # Each worker is a Python of its own, in each round.
  rounds 2 1 2 client probe worker
  # Without srun: all ranks are programs of one supervisor.
  expect_output output '3 rounds of 4' on gpu01 muster launch -n 4 -- python "$here/python/group_rounds.py" 3
}

# The group that starts again has a store of its own; both ranks of a node are one process's.
torch_starts_again() {
  fresh
  step -N2 --ntasks-per-node=1 muster run --nproc-per-node 2 --max-restarts 1 -- \
    sh -c 'python "$1" "$TORCHELASTIC_RESTART_COUNT" 0 && [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]' \
    sh "$here/python/program_after.py" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
  expect_output output '1: sum 6 of 4' grep '^1: ' "$dir/out"
}

# torchrun_inside OUTPUT OPTIONS: as the program of each rank, with agents that meet in the store that muster serves.
torchrun_inside() {
  fresh
  expect_output output "$1" step -N2 --ntasks-per-node=1 muster run -- sh -c 'exec torchrun --nnodes 2 '"$2"' "$0"' \
    "$here/python/gloo.py" 2>"$dir/err" || fail "$(cat "$dir/err")"
}
torchruns_inside() {
  torchrun_inside 'sum 6 of 4' '--nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint $MASTER_ADDR:$MASTER_PORT --rdzv-id x'
  torchrun_inside 'sum 1 of 2' '--node-rank $RANK --master-addr $MASTER_ADDR --master-port $MASTER_PORT'
  [[ -z ${MUSTER_TESTS_LONG-} ]] ||
    torchrun_inside 'sum 6 of 4' '--nproc-per-node 2 --node-rank $RANK --master-addr $MASTER_ADDR --master-port 29873'
}

# Rank 0's supervisor is neither the root nor on the first node.
rank_0_elsewhere() {
  fresh
  printf '%s\n' gpu03 gpu01 gpu02 >"$dir/hosts"
  expect_output output $'a: sum 3 of 3\nb: sum 3 of 3' ctl env SLURM_HOSTFILE="$dir/hosts" srun -n3 -m arbitrary muster run -- \
    sh -c 'set -e; python "$1" a; python "$1" b a' sh "$here/python/program_after.py" 2>"$dir/err" || fail "$(cat "$dir/err")"
  nothing_remains
}

private_group() {
  fresh
  expect_output output 'sum 1 of 2' step -N2 --ntasks-per-node=1 muster run --set run.store="$1" -- \
    python "$here/python/private_group.py" "$2" "$dir/port"
}

binds_itself() {
  expect_output output 'sum 1 of 2' step -N2 --ntasks-per-node=1 muster run --set run.store=program -- python "$here/python/gloo.py"
}

# Their sums differ, so that a rank of the other job shows.
torch_two_jobs() {
  local other
  local MUSTER_RENDEZVOUS_PORTS=$1
  export MUSTER_RENDEZVOUS_PORTS
  fresh
  by_torch 2 1 python "$here/python/gloo.py" 10 >"$dir/one" &
  other=$!
  by_torch 2 1 python "$here/python/gloo.py" 100 >"$dir/two"
  wait "$other"
  expect 'sums' "$(cat "$dir/one" "$dir/two")" $'sum 21 of 2\nsum 201 of 2'
}

# The end of one process is everybody's, in seconds, whatever PyTorch would wait for.
killed_python() {
  local began job
  fresh
  step -N2 --ntasks-per-node=2 muster run -- sh -c 'exec python "$1" "$2"' sh "$here/python/waits.py" "$dir/ranks" \
    >"$dir/out" 2>"$dir/err" &
  job=$!
  until_true 60 has_files "$dir/ranks" 4
  kill -KILL "$(cat "$dir/ranks/3")"
  began=$SECONDS
  wait "$job" || true
  [[ $((SECONDS - began)) -le 40 ]] || fail "the others ended after $((SECONDS - began)) s"
  expect_like 'who it was' "$(cat "$dir/err")" '*rank 3 on gpu02 failed: signal 9 (Killed)*'
  nothing_remains
}

# Gloo tells the other that a peer is gone: that one fails, but it is not who ended first.
ends_early() {
  fresh
  expect_code 1 by_torch 2 1 python -c 'import datetime, os, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60000))
if dist.get_rank() == 1: os._exit(0)
dist.barrier()' 2>"$dir/err"
  expect_like 'what was told' "$(cat "$dir/err")" '*rank 0 on gpu01 failed: exit 1*  ended with 0: rank 1 on gpu02*'
}

# What a program wrote last is told: the end of its traceback.
traceback() {
  fresh
  by_torch 2 1 python -c 'import os
if os.environ["RANK"] == "1": raise ValueError("no such model: x")
import time
time.sleep(1000)' 2>"$dir/err" || true
  expect_like 'what was told' "$(cat "$dir/err")" \
    '*the last lines of rank 1 on gpu02:*Traceback*ValueError: no such model: x*'
}

# stranger NODE [--user USER]: what somebody there gets who knows the store's address.
stranger() { on "${@:2}" "$1" python3 "$here/python/store_stranger.py" "${address[@]}"; }
strangers() {
  local address job
  fresh
  step -N2 --ntasks-per-node=2 muster run -- sh -c 'echo "$MASTER_ADDR $MASTER_PORT" >"$1/ranks/$RANK"; exec sleep 1000' \
    sh "$dir" 2>"$dir/err" &
  job=$!
  until_true 30 has_files "$dir/ranks" 4
  read -r -a address <"$dir/ranks/0"
  expect "another user on rank 0's node" "$(stranger gpu01 --user nobody)" 'turned away'
  expect 'another user on another node' "$(stranger gpu02 --user nobody)" 'turned away'
  expect 'the user, on a node of another job' "$(stranger gpu04)" 'turned away'
  expect 'the user on a node of the group' "$(stranger gpu02)" served
  expect 'the user on the node of rank 0' "$(stranger gpu01)" served
  expect 'one address only' "$(on gpu01 ss -Hltn "sport = ${address[1]}" | awk '{ print $4 }')" "${address[0]}:${address[1]}"
  expect_like 'what was logged' "$(cat "$dir/err")" \
    "*store ${address[0]}:${address[1]}: closed the connection from 198.18.1.1:*: it belongs to another user, uid 65534*"
  ctl scancel --user root
  wait "$job" || true
  until_true 10 nothing_remains
}

# What PyTorch does in its own group is not known, but that it has one is.
torch_in_status() {
  local go=$files/check/go
  fresh
  step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' sh -c "$note_job" sh "$dir" muster run -- python -c 'import os, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
while not os.path.exists(sys.argv[1]): time.sleep(0.1)' "$go" >"$dir/out" 2>"$dir/err" &
  laggards=$!
  job_starts 2
  asked=gpu01 until_true 60 says "  0,1    gpu[01-02]  its program runs PyTorch's own group"
  released 0
}

check_torch() {
  local patience=170 OMP_NUM_THREADS=1 PATH=$PATH
  export OMP_NUM_THREADS PATH
  check 'torch: PyTorch' "$top/tests/python/venv"
  PATH=$("$top/tests/python/venv" 2>/dev/null)/bin:$PATH || return 0
  check 'torch: strangers at the store' strangers
  check 'torch: sums on four nodes' sums 4 1
  [[ -z ${MUSTER_TESTS_LONG-} ]] || patience=500 check 'torch: 64 ranks' sums 4 16
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'torch: DistributedDataParallel' trains
  check 'torch: one program after another' programs_in_turn
  patience=500 check 'torch: process groups after each other' rounds_of_all_kinds
  patience=300 check 'torch: torchrun inside' torchruns_inside
  check 'torch: rank 0 is not on the first node' rank_0_elsewhere
  check 'torch: a group that starts again, one process on each node' torch_starts_again
  check 'torch: run.store: program' binds_itself
  check 'torch: a private store' private_group muster store
  check 'torch: a private group, run.store: program' private_group program tcp
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'torch: two jobs on the same nodes' torch_two_jobs 61000-64999
  check 'torch: two jobs on the same two ports' torch_two_jobs 61500-61501
  # evaluations.sh kills one as well.
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'torch: kill -9' killed_python
  check 'torch: a rank ends early with 0' ends_early
  check 'torch: a traceback' traceback
  check 'torch: in muster status' torch_in_status
}

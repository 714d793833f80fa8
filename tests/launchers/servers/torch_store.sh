# Sourced by `run`: ranks that meet in a store, torchrun's own or one that was said.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here and files; `fresh` sets dir and member; agents,
# static, c10d and without_munge are python.sh's and auth.sh's

# by_store PROGRAM...: torchrun on nodes without munged: nothing but the root's address in its store has a secret.
by_store() { agents "${without_munge[@]}" sh -c "torchrun --no-python $static"' "$@"' sh "$@"; }
by_c10d_store() { agents "${without_munge[@]}" sh -c "torchrun --no-python $c10d --nproc-per-node 2"' "$@"' sh "$@"; }

# Without its store torchrun's ranks have the ladder alone, and so no secret.
by_no_store() {
  fresh
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 expect_code 1 by_c10d_store "$here/as_rank" "$dir" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*munge*MUSTER_SECRET*'
}
by_ladder() { TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 as_ranks torchrun 4 by_agents "torchrun --no-python $c10d --nproc-per-node 2"; }
by_ladder_forced() { MUSTER_RENDEZVOUS_METHOD=tcp as_ranks torchrun 4 by_agents "torchrun --no-python $static"; }

# Two groups after each other, then PyTorch's own in the same store.
store_serves_all() {
  fresh
  expect_output output 'sum 6 of 4' by_store \
    sh -c 'muster run -- true && TOLD="- -" muster run -- "$@" >&2 && exec python "$0"' "$here/python/gloo.py" "${member[@]}"
  evaluated 4
}

# The agents start their ranks again, in the same store: what the first root left there leads nowhere.
store_after_restart() {
  fresh
  by_c10d_store --max-restarts 1 env TOLD='- -' muster run -- sh -c 'if [ ! -e "$0/failed" ]; then
      [ "$RANK" = 3 ] || exec sleep 100
      : >"$0/failed"
      exit 3
    fi
    exec "$@"' "$dir" "${member[@]}" 2>"$dir/err"
  evaluated 4
}

store_names_the_missing() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=20s by_store sh -c 'if [ "$RANK" = 2 ]; then
      until [ -e "$0/ranks/0" ] && [ -e "$0/ranks/1" ] && [ -e "$0/ranks/3" ]; do sleep 0.1; done
      exit 0
    fi
    muster run -- true 2>"$0/err.$RANK"
    echo $? >"$0/ranks/$RANK"' "$dir"
  expect 'exit codes' "$(cat "$dir"/ranks/? | xargs)" '75 75 75'
  # The root speaks for all.
  expect_like message "$(cat "$dir"/err.?)" '*3/4 ranks; missing 2 *'
}

# at_store COMMAND...: with a store that somebody keeps for ranks whose launcher says nothing of where they are. $serves_store:
# the muster that serves it, if not this one.
at_store() {
  local code=0 pid
  "$top/tests/cluster/on" gpu03 "${serves_store:-muster}" store --listen gpu03:29555 >"$dir/store" 2>&1 &
  pid=$!
  until_true 20 grep -q 'listening on' "$dir/store"
  MUSTER_RENDEZVOUS_METHOD=torch-store MUSTER_RENDEZVOUS_ENDPOINT=gpu03:29555 "$@" || code=$?
  kill "$pid"
  wait "$pid" || true
  return "$code"
}

store_that_was_said() {
  fresh
  at_store step -N3 --ntasks-per-node=2 "${without_munge[@]}" muster run -- "${member[@]}"
  evaluated 6
}

# 256 ranks; with --long also what the same takes with the ladder: three of each in turn.
store_of_256() {
  local ladder='' store=''
  fresh
  "$top/tests/cluster/up" 32 --name "$TEST_CLUSTER-32"
  TEST_CLUSTER=$TEST_CLUSTER-32
  at_store step -N32 -n256 --overcommit muster run -- "${member[@]}"
  evaluated 256
  for _ in ${MUSTER_TESTS_LONG:+1 2 3}; do
    ladder+=$(seconds_of)
    store+=$(at_store seconds_of)
  done
  [[ -z $ladder ]] || echo "256 ranks on 32 nodes, srun muster run -- true, seconds: store $store, ladder $ladder" >"$files/store_times"
  "$top/tests/cluster/down" --name "$TEST_CLUSTER"
}

check_torch_store() {
  local patience=120 OMP_NUM_THREADS=1 PATH=$PATH
  export OMP_NUM_THREADS PATH
  check 'torch store: one that was said' store_that_was_said
  check 'torch store: 256 ranks on 32 nodes' store_of_256
  [[ ! -e $files/store_times ]] || sed 's/^/    /' "$files/store_times"
  check 'torch store: PyTorch' "$top/tests/python/venv"
  PATH=$("$top/tests/python/venv" 2>/dev/null)/bin:$PATH || return 0
  check 'torch store: static, its secret' as_ranks torchrun 4 by_store
  check 'torch store: c10d, its secret' as_ranks torchrun 4 by_c10d_store
  check 'torch store: the ladder, forced' by_ladder_forced
  check 'torch store: groups after each other, then PyTorch' store_serves_all
  # The one has the port of `static`, the others that of `c10d`.
  begin 'torch store: a rank is missing' store_names_the_missing
  check 'torch store: none, and no secret' by_no_store
  check 'torch store: none, the ladder' by_ladder
  check 'torch store: the agents start again' store_after_restart
  finish_begun
}

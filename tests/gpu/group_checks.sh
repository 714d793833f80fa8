# Sourced by `run`: the NCCL backend, on what `with`, `apart` and `alike` name.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets bin, muster, files, top and here

# What must not hang ends and names ranks; the limits of the checks are longer.
export MUSTER_TIMEOUTS_INIT=60s MUSTER_TIMEOUTS_COLLECTIVE=60s

# ---- Several ranks on one GPU

# Before 2.30.3 NCCL takes only ranks of different hosts, which talk over sockets. From then on it shares a GPU by itself,
# if each rank leaves room for the others: `nccl.share_device` is what asks for it.
newer() { [[ $(printf '%s\n' "$1" "$2" | sort -V | tail -n 1) == "$1" ]]; }
share_settings() {
  local version=${1#NCCL }
  if newer "${version%%,*}" 2.30.3; then
    apart='' alike=(NCCL_MAX_CTAS=8)
  else
    apart=rank alike=(NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo)
  fi
}
# as_shared RANKS PROGRAM...: that many ranks under muster, on the one GPU.
as_shared() {
  local ranks=$1 variables=''
  shift
  # shellcheck disable=SC2016 # muster fills it in
  [[ -z $apart ]] || variables='{NCCL_HOSTID: "'$apart'-${rank}"}'
  env "${alike[@]}" "${with[@]}" "$muster" launch -n "$ranks" --set nccl.share_device=true \
    --set "run.env=${variables:-{\}}" -- "$@"
}

right() { expect_like 'output of rank 0' "$1" "$2 ranks: * results on each are right"; }
# one_rank VARIABLE=VALUE...
one_rank() {
  local said
  said=$(env "$@" "${with[@]}" "$muster" launch -n 1 --set backend=nccl -- "$bin/tests/gpu/collectives")
  right "$said" 1
}
# As nobody has configured it.
one_rank_by_itself() {
  local said
  said=$("${with[@]}" "$bin/tests/gpu/collectives")
  right "$said" 1
}
shared_by() {
  local said
  said=$(as_shared "$1" "$bin/tests/gpu/collectives")
  right "$said" "$1"
}
not_shared_by_default() {
  expect_code 76 "${with[@]}" "$muster" launch -n 2 -- "$bin/tests/gpu/collectives" 2>"$files/err"
  grep -q 'rank 0 and rank 1 on .* use the same GPU, GPU-' "$files/err" || fail "$(cat "$files/err")"
}
not_shared_by_old() {
  expect_code 71 "${with[@]}" "$muster" launch -n 2 --set nccl.share_device=true -- "$bin/tests/gpu/collectives" 2>"$files/err"
  grep -q 'nccl.share_device needs NCCL 2.30.3 or newer, and this is 2.28.9' "$files/err" || fail "$(cat "$files/err")"
}

# lost RANKS "HOW [first]" VARIABLE=VALUE...: started by hand, since a supervisor would end the other ranks itself. Files rank0, rank1, ...
# have their output, the array `codes` their exit codes.
lost() {
  local rank ranks=$1 port=$((20000 + RANDOM))
  rm -f "$files"/rank?
  local -a pids=() how
  read -ra how <<<"$2"
  codes=()
  for ((rank = 0; rank < ranks; ++rank)); do
    env "${alike[@]}" ${apart:+NCCL_HOSTID="$apart-$rank"} RANK=$rank WORLD_SIZE="$ranks" LOCAL_RANK=$rank \
      LOCAL_WORLD_SIZE="$ranks" MASTER_ADDR=127.0.0.1 MASTER_PORT=$port MUSTER_NCCL_SHARE_DEVICE=true \
      NCCL_MULTI_RANK_GPU_ENABLE=1 "${@:3}" "${with[@]}" "$bin/tests/gpu/lost_rank" "${how[@]}" >"$files/rank$rank" 2>&1 &
    pids+=($!)
  done
  for ((rank = 0; rank < ranks; ++rank)); do
    local code=0
    wait "${pids[$rank]}" || code=$?
    codes+=("$code")
  done
}
# after WHAT: the time from the loss until the last rank has returned, at most 2 s and what `patience` (ms) is.
after() {
  sort -k 2 -n "$files"/rank? | awk -v what="$1" -v patience="${patience:-0}" '
    $3 == "is" && $4 == "lost" { lost = $2 } $1 ~ /^[0-9]+$/ && $3 != "is" { last = $2 }
    END { printf "%s after %.1f ms\n", what, (last - lost) / 1000
      exit !(lost > 0 && last > lost && last - lost < 2000000 + 1000 * patience) }' >"$files/said" || fail "$(cat "$files"/rank? "$files/said")"
}

# rank_dies [first]
rank_dies() {
  local rank
  lost 4 "dies${1:+ first}"
  for rank in 0 1 2; do
    expect "exit code of rank $rank" "${codes[$rank]}" 69 || fail "$(cat "$files/rank$rank")"
    expect_like "message of rank $rank" "$(grep "^$rank " "$files/rank$rank")" "$rank * rank 3 on * ended without leaving its group"
  done
  after "a rank was killed in ${1:+the }${1:-an} AllReduce: all others had left it with its name"
}
rank_is_absent() {
  local rank patience=5000
  lost 2 "absent${1:+ first}" MUSTER_TIMEOUTS_COLLECTIVE=5s
  expect 'exit code of rank 0' "${codes[0]}" 75 || fail "$(cat "$files"/rank?)"
  expect_like 'message of rank 0' "$(grep '^0 ' "$files/rank0")" '0 * AllReduce* of NCCL did not finish within 5s on rank 0 *waiting for rank 1 *'
  after "a rank did not call ${1:+the }${1:-an} AllReduce (limit 5 s): all ranks had returned"
}
# Whether the process of a hung GPU can end is the driver's: this has its time.
rank_hangs() {
  local patience=15000 began=$SECONDS
  lost 2 hung MUSTER_TIMEOUTS_COLLECTIVE=5s MUSTER_NCCL_ABORT_TIMEOUT=5s
  for rank in 0 1; do
    [[ ${codes[$rank]} == 75 || ${codes[$rank]} == 69 ]] || fail "exit code of rank $rank: ${codes[$rank]}; $(cat "$files"/rank?)"
    grep -q 'did not finish within 5s\|still under way after its deadline' "$files/rank$rank" || fail "$(cat "$files"/rank?)"
  done
  echo "a GPU hung in an AllReduce (limit 5 s): both processes had ended after $((SECONDS - began)) s, with ${codes[*]}" >"$files/said"
}

digits_on_the_gpu() {
  local -a digits=("$bin/deploy/examples/digits" --data "$top/deploy/examples/data/digits.csv" --predictions)
  "${digits[@]}" "$files/cpu"
  "${with[@]}" "$muster" launch -n 1 --set backend=nccl -- "${digits[@]}" "$files/gpu1"
  cmp "$files/cpu" "$files/gpu1"
  as_shared 2 "${digits[@]}" "$files/gpu2"
  cmp "$files/cpu" "$files/gpu2"
}

# times RANKS OPERATION:BYTES:REPEAT...: muster beside bare NCCL; the rows of tests/bench/README.md are added to $files/rows.
times() {
  local -a settings=()
  [[ -z $apart ]] || settings=(--apart "$apart")
  env "${alike[@]}" "$here/compare" --bin "$bin" --ranks "$1" --rounds "$rounds" --rows "$files/rows" "${settings[@]}" "${@:2}" \
    -- "${with[@]}" >"$files/said"
}

up_to_64m=(8:100 65536:50 1048576:20 16777216:10 67108864:5)
up_to_1g=("${up_to_64m[@]}" 268435456:3 1073741824:3)
other_calls=({reduce_scatter,broadcast,send_recv,group}:{1048576:20,67108864:5})

check_group() {
  said 120 "GPU, ${group_checks[0]}" one_rank
  said 120 "GPU, ${group_checks[1]}" shared_by 2
  said 180 "GPU, ${group_checks[2]}" shared_by 4
  said 60 "GPU, ${group_checks[3]}" not_shared_by_default
  said 60 "GPU, ${group_checks[4]}" rank_dies
  said 60 "GPU, ${group_checks[5]}" rank_is_absent
  said 90 "GPU, ${group_checks[6]}" digits_on_the_gpu
  said 60 "GPU, ${group_checks[7]}" rank_dies first
  said 60 "GPU, ${group_checks[8]}" rank_is_absent first
}
check_times() {
  start_mps
  said 240 "GPU, ${times_checks[0]}" times 1 "${up_to_1g[@]/#/all_reduce:}"
  said 300 "GPU, ${times_checks[1]}" times 2 "${up_to_1g[@]/#/all_reduce:}"
  said 180 "GPU, ${times_checks[2]}" times 2 "${other_calls[@]}"
  said 180 "GPU, ${times_checks[3]}" times 4 "${up_to_64m[@]/#/all_reduce:}"
  stop_mps
}

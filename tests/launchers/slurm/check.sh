# Sourced by `run`: `muster check` says what is wrong with a group, and where, while the group itself goes on.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here, top and files; `fresh` sets dir

# checked CODE [FLAG]...: 16 ranks on 4 nodes; the report goes to $dir/out.
checked() {
  local code=$1
  shift
  fresh
  expect_code "$code" step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' muster check "$@" >"$dir/out" 2>"$dir/err" ||
    fail "$(cat "$dir/err" "$dir/out")"
}

# reported EXPRESSION: true of the JSON object, which is `d`.
reported() { python3 -c "import json, sys; d = json.load(open(sys.argv[1])); assert $1, d" "$dir/out"; }

# Of one node, without a group.
doctor() {
  fresh
  expect_code 0 step -N1 -n2 muster doctor --json >"$dir/both"
  head -n 1 "$dir/both" >"$dir/out"
  reported 'd["health"] in ("ok", "note") and [f["subject"] for f in d["findings"]] == [
    "system", "limits", "/dev/shm", "sockets", "network", "identity", "slurm", "gpus", "launcher"]'
  reported '{f["subject"]: f["facts"] for f in d["findings"]}["identity"]["munge"] == "answers"'
  reported '{f["subject"]: f["facts"] for f in d["findings"]}["slurm"] | {"job": ""} == {
    "version": "'"$(ctl srun --version)"'", "muster_slurm": "runs", "job": ""}'
  reported '{f["subject"]: f["facts"] for f in d["findings"]}["launcher"]["world_size"] == "2"'
  nothing_remains
}

line() { grep "^  $1 " "$dir/out" | sed 's/  */ /g; s/^ //'; }

healthy() {
  checked 0
  expect_like 'head' "$(head -n 1 "$dir/out")" 'muster check: 16 ranks on gpu\[01-04\], slurm:*'
  expect 'connections' "$(line connections)" 'connections ok all 6 pairs of nodes, both ways'
  expect_like 'collectives' "$(line collectives)" 'collectives ok the sum of all ranks is 120; *'
  expect_like 'end' "$(tail -n 1 "$dir/out")" 'passed in *'
  expect 'messages' "$(words "$dir/err")" ''
  nothing_remains
}

healthy_json() {
  checked 0 --json
  reported 'd["passed"] and d["exit_status"] == 0 and d["world_size"] == 16 and d["num_nodes"] == 4'
  reported '[n["node"] for n in d["nodes"]] == ["gpu01", "gpu02", "gpu03", "gpu04"]'
  reported 'all(n["links"]["measured"] == 3 and n["links"]["out_bytes_per_s"] > 0 for n in d["nodes"])'
  reported 'len(d["collectives"]) > 20 and all(c["right"] for c in d["collectives"]) and d["failures"] == []'
}

quick() {
  checked 0 --json --quick
  reported 'all(n["links"]["round_trip_us"] > 0 and n["links"]["out_bytes_per_s"] is None for n in d["nodes"])'
}

# NODE is among those to leave out. On a busy machine another one may be slow as well.
leaves_out() {
  local said
  said=$(sed -n 's/^--exclude=//p' "$dir/out")
  ctl scontrol show hostnames "$said" | grep -qx "$1" || fail "to leave out: '$said', not $1"
}

# gpu02 and gpu03 are cut off from each other; both reach the root.
broken_pair() {
  on gpu02 ip route add blackhole 198.18.1.3
  trap 'on gpu02 ip route del blackhole 198.18.1.3' EXIT
  checked 69 --json
  expect 'ranks that passed' "$(grep '^srun: error' "$dir/err" | grep -vc 'exit code 69')" 0
  reported '[(f["code"], f["nodes"]) for f in d["failures"]] == [("pair_unreachable", ["gpu02", "gpu03"])]'
  # On a busy machine a node may be slow.
  reported 'set(d["exclude"]) <= {n for w in d["warnings"] if w["code"] == "slow_node" for n in w["nodes"]}'
  reported 'd["exit_status"] == 69 and d["collectives"] == []'
  reported '[n["links"]["measured"] for n in d["nodes"]] == [3, 2, 2, 3]'
  expect_like 'message' "$(words "$dir/err" | grep '^muster')" \
    'muster: rank 0 on gpu01: error: muster check failed: gpu02 and gpu03 cannot reach each other: *'
  nothing_remains
}

cut_off_node() {
  on gpu03 ip route add blackhole 198.18.1.2
  on gpu03 ip route add blackhole 198.18.1.4
  trap 'on gpu03 ip route del blackhole 198.18.1.2; on gpu03 ip route del blackhole 198.18.1.4' EXIT
  checked 69
  leaves_out gpu03
  expect_like 'failure' "$(grep '^FAILED' "$dir/out")" 'FAILED: gpu03 and 2 of 3 other nodes cannot reach each other; *'
}

few_open_files() {
  fresh
  step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' \
    sh -c '[ "$SLURMD_NODENAME" != gpu02 ] || ulimit -n 256; exec muster check --quick' >"$dir/out"
  expect 'warning' "$(grep '^warning: only' "$dir/out")" \
    'warning: only 256 open files (nofile) on gpu02; a group of 16 should have 1024'
}

# gpu02 has a small /dev/shm, gpu03 another MTU.
unlike_nodes() {
  on gpu03 ip link set eth0 mtu 1400
  trap 'on gpu03 ip link set eth0 mtu 1500' EXIT
  fresh
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' unshare --mount sh -c 'size=8g
    [ "$SLURMD_NODENAME" != gpu02 ] || size=8m
    mount -t tmpfs -o size=$size none /dev/shm && exec muster check --quick' >"$dir/out"
  expect_like 'warning of /dev/shm' "$(grep '^warning: .*/dev/shm' "$dir/out")" 'warning: only 8* free in /dev/shm on gpu02*'
  expect_like 'warning of the MTU' "$(grep '^warning: .*MTU' "$dir/out")" 'warning: *1400 on gpu03*'
}

missing_node() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=12s expect_code 75 step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' \
    sh -c 'if [ "$SLURMD_NODENAME" = gpu03 ]; then
      until [ -s "$0/out" ]; do sleep 0.1; done
      exit
    fi
    exec muster check --json' "$dir" >"$dir/out" 2>"$dir/err"
  reported 'd["error"]["code"] == "deadline" and "12/16 ranks; missing gpu03: 8-11" in d["error"]["message"]'
}

# Ranks that leave the check at different times, five times over.
check_and_run() {
  local places=("$files"/checked-{1..5})
  fresh "${places[@]}"
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' sh -c 'for i in 1 2 3 4 5; do
    muster check --quick >/dev/null && muster run -- "$1" "$2/checked-$i" true || exit; done' sh "$here/member" "$files"
  apart "${places[@]}"
  local place
  for place in "${places[@]}"; do whole 8 "$place"; done
}

under_launch() {
  fresh
  timeout 30 muster launch -n 3 -- sh -c 'muster check --json && muster check --quick >/dev/null' >"$dir/out"
  reported 'd["passed"] and d["launcher"] == "muster" and d["world_size"] == 3'
}

world_of_one() {
  fresh
  timeout 30 muster check >"$dir/out"
  expect 'group' "$(line group)" 'group ok a world of one: there is no other rank'
}

in_a_batch_script() {
  fresh
  expect_code 64 ctl salloc --quiet -N2 -n4 muster check --json >"$dir/out"
  reported 'd["error"]["code"] == "not_launched" and d["allocation"]["kind"]'
}

check_check() {
  check 'doctor: a rank of a step' doctor
  check 'check: healthy' healthy
  check 'check: healthy, as JSON' healthy_json
  check 'check: without bandwidth' quick
  check 'check: two nodes that cannot reach each other' broken_pair
  check 'check: a node that reaches only the root' cut_off_node
  check 'check: few open files on one node' few_open_files
  check 'check: nodes that are unlike the others' unlike_nodes
  begin 'check: a node that never comes' missing_node
  check 'check && run, five times' check_and_run
  check 'check: under muster launch' under_launch
  check 'check: a world of one' world_of_one
  check 'check: not launched' in_a_batch_script
  finish_begun
}

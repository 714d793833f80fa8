# Sourced by `run`: muster beside a kept binary of an older protocol version (tests/testdata/releases), as a program of a wheel in
# a container meets another muster outside.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # the variables are the job's; lib.sh, status.sh, torch_store.sh and `run` share the others

unpack_older() {
  mkdir "$older"
  tar -xJf "$top/tests/testdata/releases/protocol-2-x86_64.tar.xz" -C "$older"
  expect_like 'version' "$("$older/muster" --version)" 'muster 0.1.0*commit: 583897d5b558*'
}

# digits_of SUPERVISOR PROGRAM
digits_of() {
  fresh
  step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' "$1" run -- "$2" --predictions "$dir/predictions" >"$dir/out"
  expect 'last line' "$(tail -n 1 "$dir/out")" "$accuracy"
  cmp "$dir/predictions" "$files/predictions"
}
older_program() { digits_of muster "$older/digits"; }
# A Python program with the library of its container's wheel.
older_wheel() {
  fresh
  PYTHONPATH=$older/python step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' muster run -- /usr/bin/python3 -c 'import muster
with muster.init() as comm:
    total = muster.all_reduce(comm.rank)
    if comm.rank == 0: print(total, muster.__file__)' >"$dir/out"
  expect output "$(<"$dir/out")" "6 $older/python/muster/__init__.py"
}
older_supervisor() { digits_of "$older/muster" bazel-bin/deploy/examples/digits; }

# status_of SUPERVISOR ASKER: of a group whose rank 5 is late.
status_of() {
  local go
  fresh
  go=$dir/go
  step -N4 --ntasks-per-node=4 -w 'gpu[01-04]' sh -c "$note_job" sh "$dir" "$1" run -- bazel-bin/tests/launchers/laggard 5 "$go" \
    >"$dir/out" 2>"$dir/err" &
  laggards=$!
  job_starts 16
  until_true 20 asks "$2" 'AllReduce #2 f32[4] waits '
  expect_like 'the others' "$(grep -F 'in AllReduce' "$dir/status" | head -n 1)" \
    '*0-4,6-15  gpu?01-04?  in AllReduce #2 f32?4? * s'
  released 0
}
asks() {
  ctl srun --input=none --overlap --jobid="$job" -N1 -n1 -w gpu03 "$1" status >"$dir/status" 2>&1 && grep -qF -- "$2" "$dir/status"
}
older_group_asked() { status_of "$older/muster" muster; }
group_asked_by_older() { status_of muster "$older/muster"; }

# ranks_at_store_of SERVER SUPERVISOR: ranks of one version meet in a store that another one serves.
ranks_at_store_of() {
  local serves_store=$1
  fresh
  at_store step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' "$2" run -- sh -c 'echo "$RANK of $WORLD_SIZE"' >"$dir/out"
  expect ranks "$(sort "$dir/out" | xargs)" '0 of 4 1 of 4 2 of 4 3 of 4'
}
older_store() { ranks_at_store_of "$older/muster" muster; }
ranks_of_older_at_store() { ranks_at_store_of muster "$older/muster"; }

# The supervisors of one group have one version. mixed_supervisors RANK: the older one's. Either side names both.
mixed_supervisors() {
  local code=0 either
  either="2|$(sed -n 's/.*kProtocolVersion = \([0-9]*\);/\1/p' "$top/comm/auth/handshake/handshake_messages.h")"
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=3s step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' sh -c '[ "$SLURM_PROCID" = "$2" ] && exec "$1/muster" run -- true
    exec muster run -- true' sh "$older" "$1" >"$dir/out" 2>"$dir/err" || code=$?
  expect "exit code ($(<"$dir/err"))" "$code" 77
  grep -qE "^muster: rank 0 on gpu01: error: the group did not form within 3s: .* speaks muster protocol ($either), rank 0 on gpu01 ($either) " "$dir/err" || fail "$(<"$dir/err")"
  grep -qE "^muster: rank 1 on gpu02: error: the root, rank 0 on gpu01, was not joined within 3s: .* speaks muster protocol ($either), this rank ($either) \(install the same version of muster on every node\)\$" "$dir/err" ||
    fail "$(<"$dir/err")"
  nothing_remains
}

check_versions() {
  local older=$files/older
  check 'versions: the kept binary' unpack_older
  check 'versions: an older program under this supervisor' older_program
  check 'versions: an older wheel under this supervisor' older_wheel
  check 'versions: this program under an older supervisor' older_supervisor
  check 'versions: status of an older group' older_group_asked
  check 'versions: status asked by an older muster' group_asked_by_older
  check 'versions: ranks in a store that an older muster serves' older_store
  check 'versions: older ranks in a store that this muster serves' ranks_of_older_at_store
  check 'versions: supervisors of two versions, the older one leads' mixed_supervisors 1
  check 'versions: supervisors of two versions, the newer one leads' mixed_supervisors 0
}

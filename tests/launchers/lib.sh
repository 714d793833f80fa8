# Sourced by `run`: commands on the cluster, and what must be true of every group.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2119,SC2120,SC2154 # shared with `run` and its parts; the variables are the job's

# A group that lacks a rank, and whatever else hangs, must fail and not block.
export MUSTER_TIMEOUTS_RENDEZVOUS=80s
on() { timeout --kill-after=5 "${patience:-120}" "$top/tests/cluster/on" "$@"; }
ctl() { on ctl "$@"; }
step() { ctl srun "$@"; }

# On an old kernel, bazel-bin has scripts instead of programs (../old_kernel/overlay). A check that copies a program copies
# the real one, and starts the copy with this prefix, which is empty otherwise.
real_programs=$(readlink -f "${MUSTER_BIN_DIR:-$top/bazel-bin}")
old_kernel=()
if [[ -n ${MUSTER_TEST_KERNEL-} ]]; then
  old_kernel=("$real_programs/tests/old_kernel/old_kernel" "$MUSTER_TEST_KERNEL")
  # The python3 of pyenv is a shell script, whose tests for files do not survive EPERM.
  PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi

# has_files DIR COUNT
has_files() { [[ $(find "$1" -type f ! -name '*.new' | wc -l) -ge $2 ]]; }

# New places for members to write to; of the last one, `dir` and `member` are set. A check that was begun beside others has
# one of its own.
fresh() {
  for dir in "${@:-$files/check${begun#0}}"; do
    rm -rf "$dir"
    mkdir -p "$dir/ranks" "$dir/waiting" "$dir/tuples"
  done
  member=("$here/member" "$dir")
}

# whole SIZE [DIR]: one group of so many ranks met there, everybody's tuple is right.
whole() {
  local place=${2-$dir} wrong
  wrong=$("$here/ranks" "$1" "$place"/ranks/*) || fail "$wrong"
  expect 'number of ranks' "$(find "$place/ranks" -type f | wc -l)" "$1"
}

# evaluated SIZE [DIR]: such a group, and its digits are those of one process, byte by byte.
evaluated() {
  whole "$@"
  cmp "${2-$dir}/predictions" "$files/predictions"
}

# as_ranks LAUNCHER SIZE COMMAND...: it starts so many ranks of one group, and all of them resolve so.
as_ranks() {
  fresh
  "${@:3}" "$here/as_rank" "$dir"
  expect_resolved "$1" "$2"
  evaluated "$2"
}

# expect_resolved LAUNCHER COUNT: by what as_rank left.
expect_resolved() {
  expect 'launchers' "$(sed 's/^{"launcher":"\([^"]*\)",.*/\1/' "$dir"/tuples/* | sort | uniq -c | xargs)" "$2 $1"
}

# of_rank DIR RANK FIELD: pid, supervisor or group.
of_rank() {
  local fields
  read -r -a fields <"$1/ranks/$2"
  case $3 in
    group) echo "${fields[11]}" ;;
    pid) echo "${fields[13]}" ;;
    supervisor) echo "${fields[14]}" ;;
  esac
}

# apart DIR...: no two of these are one group.
apart() {
  local place
  expect 'number of groups' "$(for place in "$@"; do of_rank "$place" 0 group; done | sort -u | wc -l)" $#
}

# What passes a gate (at_gate) waits there until it is opened.
shut_gate() {
  exec {gate}>"$dir/gate"
  flock "$gate"
}
open_gate() { flock --unlock "$gate"; }

# A batch job that runs the script on stdin; comes back when it has ended, with its exit code.
batch() {
  local code
  submit "$@"
  until_true 55 test -e "$dir/code" || fail "$(cat "$dir/out")"
  read -r code <"$dir/code"
  [[ $code -eq 0 ]] || cat "$dir/out" >&2
  return "$code"
}

# The same without waiting; `job` is its number. Its output is in $dir/out. sbatch --wait would notice the end up to
# 2 s late.
submit() {
  {
    echo '#!/bin/bash'
    # A heterogeneous job is described by comments.
    printf '%s\n' "${header[@]}"
    printf "trap 'echo \$? >%q.new; mv %q.new %q' EXIT\n" "$dir/code" "$dir/code" "$dir/code"
    cat
  } >"$dir/script"
  job=$(ctl sbatch --parsable --output="$dir/out" --open-mode=append "$@" "$dir/script")
}
header=()

# What muster may leave nowhere: a process, a socket, a file in memory. A command that fails finds nothing.
remains() {
  local node processes
  processes=$("$top/tests/cluster/reap" "$TEST_CLUSTER" --list) || return
  awk '$2 ~ /(^|\/)(muster|digits)$/ || $3 ~ /launchers\/(member|at_gate)$/' <<<"$processes"
  for node in "${nodes[@]}"; do
    on "$node" awk -v node="$node" '/@muster|\/muster-/ { print node ": socket " $NF }' /proc/net/unix || return
    on "$node" find /dev/shm -ignore_readdir_race -name '*muster*' -printf "$node: %p\n" || return
    on "$node" ss -Hltn 'sport >= 61000 and sport <= 64999' || return
  done
}
nothing_remains() { expect_output 'what remains' '' remains; }

# If srun kills all ranks of a node, none is left to remove the directory where they met; the user's next start there does.
next_start_clears() {
  local node
  for node in "${nodes[@]}"; do on "$node" muster launch -n 2 -- true; done
  nothing_remains
}

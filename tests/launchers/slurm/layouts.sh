# Sourced by `run`: whatever Slurm's layout, all ranks meet and each is right about itself.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files, `fresh` sets dir and member

readonly accuracy='accuracy: 1776/1797 = 98.83 %'

as_documented() {
  expect_last_line 'last line' "$accuracy" step -N4 -n16 muster run -c configs/eval-digits.yaml
}

# layout SIZE [OPTION OF srun]...
layout() {
  fresh
  expect_last_line 'last line' "$accuracy" step "${@:2}" muster run -c configs/eval-digits.yaml -- "${member[@]}"
  evaluated "$1"
}

arbitrary() {
  printf 'gpu03\ngpu01\ngpu03\ngpu02\n' >"$files/hosts"
  SLURM_HOSTFILE=$files/hosts layout 4 -n4 -m arbitrary
  expect 'nodes in the order of the ranks' "$(cut -d' ' -f10 "$dir"/ranks/? | xargs)" 'gpu03 gpu01 gpu03 gpu02'
}

from_sbatch() {
  fresh
  batch -N4 -n16 <<<"srun muster run -c configs/eval-digits.yaml -- ${member[*]}"
  expect 'last line' "$(tail -n 1 "$dir/out")" "$accuracy"
  evaluated 16
}

# The components of `srun A : B` are one world.
heterogeneous_step() {
  fresh
  step -N1 -n2 muster run -- "${member[@]}" : -N2 -n3 muster run -- "${member[@]}"
  evaluated 5
}

# In an allocation slurmstepd names the component as well: "[7.0+1]".
heterogeneous_step_of_a_job() {
  fresh
  batch -N3 --exclusive <<<"srun -N1 -n2 muster run -- ${member[*]} : -N2 -n3 muster run -- ${member[*]}"
  evaluated 5
}

heterogeneous_job() {
  fresh "$files/first" "$files/both"
  local header=('#SBATCH -N1 -n2' '#SBATCH hetjob' '#SBATCH -N2 -n3')
  batch <<-END
	set -e
	srun muster run -- $here/member $files/first
	srun --het-group=0,1 muster run -- $here/member $files/both
	END
  evaluated 2 "$files/first"
  evaluated 5 "$files/both"
}

multi_prog() {
  fresh
  printf '%s\n' "0 muster run -- ${member[*]}" "1-5 muster run -- ${member[*]}" >"$files/programs"
  step -N3 --ntasks-per-node=2 --multi-prog "$files/programs"
  evaluated 6
}

large() {
  "$top/tests/cluster/up" 32 --name "$TEST_CLUSTER-32"
  TEST_CLUSTER=$TEST_CLUSTER-32 layout 512 -N32 -n512 --overcommit
  "$top/tests/cluster/down" --name "$TEST_CLUSTER-32"
}

# Init() in a program that srun starts itself.
without_run() {
  fresh
  step -N4 -n8 bazel-bin/deploy/examples/digits --predictions "$dir/predictions"
  cmp "$dir/predictions" "$files/predictions"
}

# Before Linux 5.4 the queue of a listening socket has 128 places: programs that find it full wait for their supervisor, which
# is stopped here until that is so.
short_queue() {
  local pid supervisor
  fresh
  with_short_queue muster launch -n 24 -- muster resolve >"$dir/out"
  expect 'ranks' "$(sed -n 's/^rank [0-9]* of/rank of/p' "$dir/out" | sort | uniq -c | xargs)" '24 rank of 24, started by muster'
  shut_gate
  with_short_queue muster launch -n 24 -- "$here/at_gate" "$dir" bazel-bin/deploy/examples/digits --predictions "$dir/predictions" &
  pid=$!
  until_true 60 has_files "$dir/waiting" 24
  supervisor=$(sed -n 's/^PPid:\t//p' "/proc/$(find "$dir/waiting" -type f -printf '%f\n' -quit | sed 's/.*\.//')/status")
  kill -STOP "$supervisor"
  open_gate
  until_true 60 queue_is_full "$supervisor"
  kill -CONT "$supervisor"
  wait "$pid"
  cmp "$dir/predictions" "$files/predictions"
}
with_short_queue() { on gpu01 unshare --net sh -c 'ip link set lo up; sysctl -qw net.core.somaxconn=4; exec "$@"' sh "$@"; }
# Of a socket of that process's network namespace.
queue_is_full() { nsenter --net="/proc/$1/ns/net" ss -Hxl | awk '$3 > 4 { full = 1 } END { exit !full }'; }

# Two programs under one `muster run` adopt its group one after the other.
twice_adopted() {
  fresh
  step -N2 --ntasks-per-node=2 muster run -- sh -c \
    'for name in predictions again; do bazel-bin/deploy/examples/digits --predictions "$1/$name" || exit; done' sh "$dir"
  cmp "$dir/predictions" "$files/predictions"
  cmp "$dir/again" "$files/predictions"
}

# launched RANKS [COMMAND...]: with no cluster, or by a command that starts it.
launched() {
  fresh
  "${@:2}" muster launch -n "$1" -c configs/eval-digits.yaml -- "${member[@]}"
  evaluated "$1"
}

launched_in_batch() {
  fresh
  batch -N2 --ntasks-per-node=2 <<<"muster launch -n 4 -- ${member[*]}"
  evaluated 4
}

check_layouts() {
  check 'srun: as the configuration says' as_documented
  check 'srun: -N4 -n16' layout 16 -N4 -n16
  check 'srun: even' layout 8 -N4 --ntasks-per-node=2
  check 'srun: uneven' layout 7 -N3 -n7
  check 'srun: -m cyclic' layout 10 -N4 -n10 --exclusive -m cyclic
  check 'srun: -m plane=2' layout 10 -N4 -n10 --exclusive -m plane=2
  check 'srun: -m arbitrary' arbitrary
  check 'srun: one task' layout 1 -N1 -n1
  check 'srun: one node' layout 4 -N1 -n4
  check 'srun: heterogeneous step' heterogeneous_step
  check 'srun: heterogeneous step of a job' heterogeneous_step_of_a_job
  check 'srun: --multi-prog' multi_prog
  check 'srun: Init() without muster run' without_run
  check 'srun: Init() twice under one muster run' twice_adopted
  check 'sbatch: srun in the script' from_sbatch
  check 'sbatch: heterogeneous job' heterogeneous_job
  check 'launch: 1 rank' launched 1
  check 'launch: 3 ranks' launched 3
  check 'launch: 4 ranks' launched 4
  check 'launch: 16 ranks' launched 16
  check 'launch: 24 ranks and a queue of 4' short_queue
  check 'launch: in a batch script' launched_in_batch
  check 'launch: in a step' launched 4 step -N1 -n1
  check 'srun: 512 tasks on 32 nodes' large
}

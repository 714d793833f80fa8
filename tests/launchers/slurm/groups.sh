# Sourced by `run`: groups that must not merge, however close they come in space and time.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# One port for the roots of two groups, so that they must collide; the other is for the programs. With run.store: muster
# one of them would get a port from elsewhere (torch.sh has that).
readonly same_ports=(--set rendezvous.ports=61500-61501 --set run.store=program)

# Two jobs on the same nodes, all their ranks let go at once.
two_jobs() {
  local name
  fresh "$files/a" "$files/b" "$files/gate"
  shut_gate
  for name in a b; do
    step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' "$here/at_gate" "$dir" \
      muster run "$@" -- "$here/member" "$files/$name" &
  done
  until_true 20 has_files "$dir/waiting" 16
  open_gate
  wait
  apart "$files/a" "$files/b"
  evaluated 8 "$files/a"
  evaluated 8 "$files/b"
}

# Two steps of one job, the same way.
two_steps() {
  fresh "$files/a" "$files/b" "$files/gate"
  shut_gate
  ctl salloc --quiet -N4 --ntasks-per-node=2 sh -c '
    place=$1 files=$2 here=$3
    shift 3
    for name in a b; do
      srun --overlap "$here/at_gate" "$place" muster run "$@" -- "$here/member" "$files/$name" &
    done
    wait' sh "$dir" "$files" "$here" "$@" &
  until_true 20 has_files "$dir/waiting" 16
  open_gate
  wait
  apart "$files/a" "$files/b"
  evaluated 8 "$files/a"
  evaluated 8 "$files/b"
}

# one_after_another LATE AHEAD: `muster run -- a && muster run -- b`. Rank LATE is still at a when AHEAD of the others
# are on their way to b.
one_after_another() {
  local late=$1 ahead=$2
  fresh "$files/a" "$files/b" "$files/gate"
  mkdir "$dir/done"
  shut_gate
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' sh -c '
    gate=$1 a=$2 b=$3 member=$4 at_gate=$5
    [ "$SLURM_PROCID" != "$6" ] || set -- "$@" "$at_gate" "$gate"
    shift 6
    muster run -- "$member" "$a" "$@" true && : >"$gate/done/$SLURM_PROCID" && muster run -- "$member" "$b"' \
    sh "$dir" "$files/a" "$files/b" "$here/member" "$here/at_gate" "$late" &
  until_true 20 has_files "$dir/waiting" 1
  until_true 20 has_files "$dir/done" "$ahead"
  open_gate
  wait $!
  apart "$files/a" "$files/b"
  whole 8 "$files/a"
  evaluated 8 "$files/b"
}

in_quick_succession() {
  local places=("$files"/row-{1..5})
  fresh "${places[@]}"
  step -N4 --ntasks-per-node=2 sh -c 'for i in 1 2 3 4 5; do muster run -- "$1" "$2/row-$i" true || exit; done' \
    sh "$here/member" "$files"
  apart "${places[@]}"
  local place
  for place in "${places[@]}"; do whole 8 "$place"; done
}

elements_of_an_array() {
  local places=("$files"/element-{0..2})
  fresh "${places[@]}"
  submit --array=0-2 -N2 --ntasks-per-node=2 <<-END
	trap - EXIT
	srun muster run -- $here/member $files/element-\$SLURM_ARRAY_TASK_ID
	echo \$? >$files/element-\$SLURM_ARRAY_TASK_ID/code
	END
  until_true 30 test -e "$files/element-0/code" -a -e "$files/element-1/code" -a -e "$files/element-2/code"
  expect 'exit codes' "$(cat "${places[@]/%//code}" | xargs)" '0 0 0'
  apart "${places[@]}"
  local place
  for place in "${places[@]}"; do evaluated 4 "$place"; done
}

step_in_a_step() {
  fresh
  ctl salloc --quiet -N2 --ntasks-per-node=3 srun -N1 -n1 \
    srun --overlap -N2 -n4 --ntasks-per-node=2 muster run -- "${member[@]}"
  evaluated 4
}

# The first life of the job: its group is at work when it is requeued.
requeue_begins() {
  fresh "$files/second" "$files/first"
  submit -N4 --ntasks-per-node=2 --requeue <<-END
	[ -n "\$SLURM_RESTART_COUNT" ] || exec srun muster run -- $here/member $files/first sleep 100
	srun -N1 -n1 muster resolve --json >$files/second/resolved
	srun muster run -- $here/member $files/second
	END
  until_true 20 has_files "$files/first/ranks" 8
  ctl scontrol requeue "$job"
}

requeue_ends() {
  until_true 40 test -e "$files/first/code"
  expect_like 'resolved' "$(cat "$files/second/resolved")" '*,"restart":1}*'
  whole 8 "$files/first"
  evaluated 8 "$files/second"
  apart "$files/first" "$files/second"
}

check_groups() {
  local round
  check 'requeue: of a job with a group at work' requeue_begins
  check 'two jobs on the same nodes' two_jobs
  check 'two jobs on the same nodes and ports' two_jobs "${same_ports[@]}"
  check 'two steps of one job' two_steps
  check 'two steps of one job on the same ports' two_steps "${same_ports[@]}"
  # Another round shows nothing new, but meets other moments.
  for round in 1 ${MUSTER_TESTS_LONG:+2}; do
    check "run && run, round $round: rank 0 is late" one_after_another 0 7
    check "run && run, round $round: rank 3 is late" one_after_another 3 4
    check "run && run, round $round: rank 6 is late" one_after_another 6 5
    check "run && run, round $round: rank 7 is late" one_after_another 7 4
    check "run && run, round $round: five in a row" in_quick_succession
  done
  check 'elements of a job array' elements_of_an_array
  check 'srun in srun' step_in_a_step
  check 'requeue: the second life' requeue_ends
}

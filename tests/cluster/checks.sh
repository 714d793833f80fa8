# Sourced by test suites written in bash: one line per check, and the counts at the end.
# shellcheck shell=bash

# What script and salloc start; not set everywhere.
export SHELL=/bin/bash
# Suites compare lines of the log; tests/launchers/slurm/output.sh and log_time_test.cc have the times.
export MUSTER_LOG_TIME=none

# A command that fails is a check that fails, never the end of the suite.
set +e

passed=0 failed=0 skipped=0

# takes KNOWN WORD...: the suite's first lines are its help, for --help and for a WORD that is none of KNOWN.
takes() {
  local word
  for word in "${@:2}"; do
    if [[ $word == --help || " $1 " != *" $word "* ]]; then
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      [[ $word != --help ]] || exit 0
      echo "$0: unknown word $word" >&2
      exit 64
    fi
  done
}

# What a check says goes to a file, not a pipe: a process that it leaves behind must not hold up
# the suite. Without a name from the start, so that nobody has to remove it. Sets the variable of that name.
nameless_file() {
  local file descriptor
  file=$(mktemp)
  exec {descriptor}<>"$file"
  rm "$file"
  printf -v "$1" '/proc/%d/fd/%d' $$ "$descriptor"
}
scratch='' reruns=''
nameless_file scratch
# Reasons why the check at work has tried again.
nameless_file reruns

# How often a slurmd of the suite's clusters has crashed, and was started again (boot). Steps that begin at that moment fail.
crashes_of_slurmd() {
  cat /var/lib/muster-cluster/"${TEST_CLUSTER:-none}"*/nodes/*/log 2>/dev/null | grep -c 'crashed (exit status'
}

# check NAME FUNCTION [ARG...]: passes when the function, under `set -e`, succeeds; else the last
# thing it said is the reason. Again, once, if a slurmd has crashed meanwhile.
check() {
  local code crashes
  : >"$reruns"
  crashes=$(crashes_of_slurmd)
  (set -eu; "${@:2}") >"$scratch" 2>&1 </dev/null
  code=$?
  if [[ $code -ne 0 && $(crashes_of_slurmd) -gt $crashes ]]; then
    rerun "slurmd has crashed: $(tail -n 1 "$scratch")"
    (set -eu; "${@:2}") >"$scratch" 2>&1 </dev/null
    code=$?
  fi
  verdict "$1" $code "$scratch" "$reruns"
}

# verdict NAME CODE OUTPUT RERUNS
verdict() {
  local reason
  while IFS= read -r reason; do printf 'rerun %s: %s\n' "$1" "$reason"; done <"$4"
  if [[ $2 -eq 0 ]]; then
    passed=$((passed + 1))
    printf 'ok %s\n' "$1"
    return
  fi
  failed=$((failed + 1))
  reason=$(tail -n 1 "$3")
  printf 'FAILED %s: %s\n' "$1" "${reason:-exit code $2}"
  sed '$d; s/^/    /' "$3" | tail -n 60
}

# begin NAME FUNCTION [ARG...]: a check beside those that follow, for what waits for a deadline. It has a number, $begun, for a
# place of its own; 0 in all other checks. finish_begun awaits them all and prints their lines. A suite calls end_begun at its
# end, whatever happens.
begun=0 begun_names=() begun_pids=() begun_outputs=() begun_reruns=()
begin() {
  local output again
  nameless_file output
  nameless_file again
  (
    # shellcheck disable=SC2030,SC2034 # for this check alone; the suite uses it
    begun=$((${#begun_names[@]} + 1)) reruns=$again
    set -eu
    "${@:2}"
  ) >"$output" 2>&1 </dev/null &
  begun_pids+=($!) begun_names+=("$1") begun_outputs+=("$output") begun_reruns+=("$again")
}
finish_begun() {
  local i
  for i in "${!begun_pids[@]}"; do
    wait "${begun_pids[i]}"
    verdict "${begun_names[i]}" $? "${begun_outputs[i]}" "${begun_reruns[i]}"
  done
  begun_pids=() begun_names=() begun_outputs=() begun_reruns=()
}
end_begun() { [[ ${#begun_pids[@]} -eq 0 ]] || kill "${begun_pids[@]}" 2>/dev/null || true; }

# rerun REASON: a check calls it each time that it tries again. `check` prints `rerun NAME: REASON`, and tests/run the sum.
# checks.py has the same for Python.
# shellcheck disable=SC2031 # see begin
rerun() { printf '%s\n' "${1//$'\n'/ }" >>"$reruns"; }

skip() {
  skipped=$((skipped + 1))
  printf 'skipped %s: %s\n' "$1" "$2"
}

# expect WHAT GOT WANTED
expect() {
  [[ $2 == "$3" ]] || fail "$1: got '$2', not '$3'"
}

# expect_like WHAT GOT PATTERN, a glob
expect_like() {
  # shellcheck disable=SC2053 # the pattern is meant as one
  [[ $2 == $3 ]] || fail "$1: got '$2', nothing like '$3'"
}

# expect_output WHAT WANTED COMMAND...: it succeeds, and prints that. In an argument, "$(COMMAND)", its exit status is lost.
expect_output() {
  local printed
  printed=$("${@:3}") || fail "$1: exit code $? of '${*:3}'" || return
  expect "$1" "$printed" "$2"
}

# expect_last_line WHAT WANTED COMMAND...
expect_last_line() {
  local printed
  printed=$("${@:3}") || fail "$1: exit code $? of '${*:3}'" || return
  expect "$1" "${printed##*$'\n'}" "$2"
}

fail() {
  printf '%s\n' "$1" >&2
  return 1
}

# expect_code CODE CMD...
expect_code() {
  local code=0
  "${@:2}" || code=$?
  expect "exit code of '${*:2}'" "$code" "$1"
}

# unless_open_mpi_crashes FUNCTION [ARG...]: again where it fails for that. In one start of a hundred on a busy machine, srun
# --mpi=pmix with nothing but an MPI program, Open MPI 4.1's TCP transport calls a function that is not there, within MPI_Init.
unless_open_mpi_crashes() {
  local code said try
  said=$(mktemp)
  for try in 1 2 3 4 5; do
    set +e
    (set -eu; "$@") >"$said" 2>&1
    code=$?
    set -e
    if [[ $code -eq 0 || $try -eq 5 ]] || ! grep -q 'Signal: Segmentation fault' "$said"; then break; fi
    rerun 'Open MPI ended by a segmentation fault'
  done
  cat "$said"
  rm "$said"
  return "$code"
}

# until_true SECONDS COMMAND...: when to give up what takes that long at most on a busy machine; four times that, for
# one that is busier still. A limit that muster promises is measured, not waited for.
until_true() {
  local deadline=$((SECONDS + 4 * $1))
  until "${@:2}"; do
    [[ $SECONDS -lt $deadline ]] || fail "not within $((4 * $1)) s: ${*:2}" || return
    sleep 0.02
  done
}

# twice_within_a_second SRUN FILE: Ctrl-C as srun passes it on. What srun says is in FILE: of one that came too late for that, as
# of the first.
twice_within_a_second() {
  local firsts=0
  kill -INT "$1"
  until_true 10 passed_on "$@"
}
passed_on() {
  local said
  said=$(grep -c 'one more within 1 sec' "$2")
  if [[ $said -gt $firsts ]]; then
    firsts=$said
    kill -INT "$1"
  fi
  grep -q 'sending Ctrl-C' "$2" || ! kill -0 "$1" 2>/dev/null
}

# words FILE...: what was said, but for what is said on a busy machine alone: the progress of a wait that is long there,
# an attempt of a rank to connect that it gave up for another one, and a job of srun that waits until the one before has
# given back its nodes.
words() {
  sed -E '/: waiting [0-9.]* s: /d; /: rejected a connection: [0-9.:]+: it closed the connection$/d
    /^srun: job [0-9]+ (queued and waiting for|has been allocated) resources$/d' "$@"
}

# Ends the suite: the line that tests/run reads, and the exit code.
summary() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [[ $failed -eq 0 ]]
}

# Sourced by test suites written in bash: one line per check, and the counts at the end.
# shellcheck shell=bash

# What script and salloc start; not set everywhere.
export SHELL=/bin/bash

# A command that fails is a check that fails, never the end of the suite.
set +e

passed=0 failed=0 skipped=0

# What a check says goes to a file, not a pipe: a process that it leaves behind must not hold up
# the suite. Without a name from the start, so that nobody has to remove it.
scratch=$(mktemp)
exec {scratch_fd}<>"$scratch"
rm "$scratch"
scratch=/proc/$$/fd/$scratch_fd

# Reasons why the check at work has tried again; kept in the same way.
reruns=$(mktemp)
exec {reruns_fd}<>"$reruns"
rm "$reruns"
reruns=/proc/$$/fd/$reruns_fd

# check NAME FUNCTION [ARG...]: passes when the function, under `set -e`, succeeds; else the last
# thing it said is the reason.
check() {
  local name=$1 code reason
  : >"$reruns"
  (set -eu; "${@:2}") >"$scratch" 2>&1 </dev/null
  code=$?
  while IFS= read -r reason; do printf 'rerun %s: %s\n' "$name" "$reason"; done <"$reruns"
  if [[ $code -eq 0 ]]; then
    passed=$((passed + 1))
    printf 'ok %s\n' "$name"
    return
  fi
  failed=$((failed + 1))
  reason=$(tail -n 1 "$scratch")
  printf 'FAILED %s: %s\n' "$name" "${reason:-exit code $code}"
  sed '$d; s/^/    /' "$scratch" | tail -n 60
}

# rerun REASON: a check calls it each time that it tries again. `check` prints `rerun NAME: REASON`, and tests/run the sum.
# checks.py has the same for Python.
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

# words FILE...: what was said, but for the progress of a wait that is a long one on a busy machine alone.
words() { sed '/: waiting [0-9.]* s: /d' "$@"; }

# Ends the suite: the line that tests/run reads, and the exit code.
summary() {
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [[ $failed -eq 0 ]]
}

#!/bin/bash
# cluster/checks.sh: a command that prints what is expected and then fails is a check that fails.
# usage: checks_test.sh CHECKS
# shellcheck source=tests/cluster/checks.sh
. "$1"

# ends CODE LINE...: a program that prints the lines.
ends() {
  printf '%s\n' "${@:2}"
  return "$1"
}

lines=$(
  check 'a last line' expect_last_line 'last line' two ends 0 one two
  check 'a last line alone' expect_last_line 'last line' one ends 0 one
  check 'another last line' expect_last_line 'last line' one ends 0 one two
  check 'a last line of a program that fails' expect_last_line 'last line' two ends 9 one two
  check 'an output' expect_output output $'one\ntwo' ends 0 one two
  check 'another output' expect_output output one ends 0 one two
  check 'an output of a program that fails' expect_output output one ends 9 one
  # As in the middle of a check, and in one that a condition has.
  # shellcheck disable=SC2317 # `check` calls it
  goes_on() { expect_output output one ends 9 one && true; }
  check 'as a condition' goes_on
  summary
)
expected="ok a last line
ok a last line alone
FAILED another last line: last line: got 'two', not 'one'
FAILED a last line of a program that fails: last line: exit code 9 of 'ends 9 one two'
ok an output
FAILED another output: two', not 'one'
    output: got 'one
FAILED an output of a program that fails: output: exit code 9 of 'ends 9 one'
FAILED as a condition: output: exit code 9 of 'ends 9 one'
3 passed, 5 failed, 0 skipped"
[[ $lines == "$expected" ]] || {
  diff <(echo "$lines") <(echo "$expected")
  exit 1
}

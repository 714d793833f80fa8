# Sourced by `run`: what muster-slurm knows, and that it is missed by nobody where it is not there, hangs or crashes.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # `run` sets here, top and files; `fresh` sets dir and member

# Rank 2 of a layout that no environment says never comes; it stays until the others have given up.
lacks_rank_2() {
  fresh
  printf 'gpu03\ngpu01\ngpu03\ngpu02\n' >"$dir/hosts"
  SLURM_HOSTFILE=$dir/hosts MUSTER_TIMEOUTS_RENDEZVOUS=${limit:-14s} expect_code 75 step -n4 -m arbitrary sh -c '
    if [ "$SLURM_PROCID" = 2 ]; then
      until [ -e "$0/ended" ]; do sleep 0.1; done
      exit
    fi
    code=0
    "$@" || code=$?
    : >"$0/ended"
    exit "$code"' "$dir" "$@" 2>"$dir/err"
}
exactly='3/4 ranks; missing gpu03: 2 (never connected)'
roughly='3/4 ranks; missing 2 on gpu03: 1 rank (never connected)'

helper_prints() {
  fresh
  step -N3 -n3 -w 'gpu[01-03]' -t 5 sh -c '[ "$SLURM_PROCID" != 0 ] ||
    muster-slurm --layout "$SLURM_JOB_ID.$SLURM_STEP_ID" --layout "$SLURM_JOB_ID.77" --end "$SLURM_JOB_ID" \
      --address gpu02 --address gpu99' >"$dir/out"
  python3 - "$dir/out" <<-'END'
	import json, sys, time
	answer = json.load(open(sys.argv[1]))
	assert answer["layouts"] == [[{"node": f"gpu0{n + 1}", "tasks": [n]} for n in range(3)], None], answer
	assert answer["addresses"] == {"gpu02": "198.18.1.2"}, answer
	assert 0 < answer["end_time"] - time.time() <= 301, answer
	assert len(answer["problems"]) == 2 and "gpu99" in answer["problems"][1], answer
	END
  expect_code 64 muster-slurm --layout 7 2>"$dir/err"
  muster-slurm --help >"$dir/help"
}

helper_knows_an_arbitrary_layout() {
  limit=16s lacks_rank_2 muster run -- true
  expect_like message "$(cat "$dir/err")" "*the group did not form within 16s: $exactly*"
  expect_like 'progress' "$(grep waiting "$dir/err")" "*waiting *.? s: $exactly*"
}

# The components of `srun A : B`; rank 3 is the second of three on the nodes after the first.
helper_knows_a_heterogeneous_layout() {
  fresh
  local part=(sh -c 'if [ "$SLURM_PROCID" = 3 ]; then
      until [ -e "$0/ended" ]; do sleep 0.1; done
      exit
    fi
    code=0
    muster run -- true || code=$?
    : >"$0/ended"
    exit "$code"' "$dir")
  MUSTER_TIMEOUTS_RENDEZVOUS=16s expect_code 75 step -N1 -n2 "${part[@]}" : -N2 --ntasks-per-node=2 "${part[@]}" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*5/6 ranks; missing gpu0?: 3 (never connected)*'
}

# Where Slurm does not say it in the environment.
helper_knows_the_jobs_end() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=10m step -N2 -n2 -t 1 -J ends sh -c '
    [ "$SLURM_PROCID" != 1 ] || exec sleep 100
    unset SLURM_JOB_END_TIME
    exec muster run -- true' 2>"$dir/err" &
  until_true 30 grep -qs "cut to the job's end, in .* (Slurm): timeouts.rendezvous (10m)" "$dir/err"
  ctl scancel --name ends
  wait $! || true
}

# fake SCRIPT: in the place of muster-slurm, in a folder `fake` of this check.
fake() {
  fake=$files/fake$begun
  mkdir -p "$fake"
  printf '#!/bin/sh\n: >"%s/asked"\n%s\n' "$fake" "$1" >"$fake/helper"
  chmod +x "$fake/helper"
  rm -f "$fake/asked"
}
by_fake() { lacks_rank_2 env "MUSTER_RENDEZVOUS_SLURM_HELPER=$fake/helper" muster run -- true; }

helper_is_not_asked_at_the_start() {
  fake 'exit 1'
  fresh
  MUSTER_RENDEZVOUS_SLURM_HELPER=$fake/helper step -N4 --ntasks-per-node=2 muster run -- "${member[@]}"
  evaluated 8
  expect_code 1 test -e "$fake/asked"
}

# A muster without one beside it says nothing of that.
helper_is_absent() {
  mkdir -p "$files/alone"
  cp -L "$real_programs/bootstrap/cli/muster" "$files/alone/muster"
  lacks_rank_2 env PATH=/usr/bin:/bin "${old_kernel[@]}" "$files/alone/muster" run -- true
  expect_like message "$(cat "$dir/err")" "*within 14s: $roughly*"
  expect 'what is said of it' "$(grep -c muster-slurm "$dir/err")" 0
}
helper_is_none() {
  lacks_rank_2 muster run --set rendezvous.slurm_helper=none -- true
  expect_like message "$(cat "$dir/err")" "*within 14s: $roughly*"
}

# It is there, and what it was built for is not.
helper_has_no_libslurm() {
  lacks_rank_2 unshare --mount sh -c 'for file in /usr/lib/*/libslurm.so.[0-9]*; do
      [ -L "$file" ] || mount --bind /dev/null "$file" || exit
    done
    exec "$@"' sh muster run -- true
  expect_like message "$(cat "$dir/err")" "*within 14s: $roughly*"
  expect 'what is said of it' "$(grep -c 'muster-slurm .*; continuing without its answer' "$dir/err")" 1
}

helper_hangs() {
  cp "$(type -P sleep)" "$files/hangs"
  fake "exec $files/hangs 1000"
  limit=11s by_fake
  expect_like message "$(cat "$dir/err")" "*within 11s: $roughly*"
  expect 'what is said of it' "$(grep -c 'muster-slurm did not answer in time; continuing without its answer' "$dir/err")" 1
  test -e "$fake/asked"
  # It goes with the root, too.
  by_fake
  until_true 20 none_hangs
}
none_hangs() { ! "$top/tests/cluster/reap" "$TEST_CLUSTER" --list | grep -qF "$files/hangs"; }

# `muster run` reaps whatever ends below it, but leaves this end to the thread that started the helper.
helper_crashes() {
  fake 'kill -SEGV $$'
  by_fake
  expect_like message "$(cat "$dir/err")" "*within 14s: $roughly*"
  expect_like 'what is said of it' "$(cat "$dir/err")" '*muster-slurm was killed by signal 11; continuing without its answer*'
}
helper_prints_no_json() {
  fake 'echo "{layouts"'
  by_fake
  expect_like 'what is said of it' "$(cat "$dir/err")" '*muster-slurm printed no JSON object; continuing without its answer*'
}

# end_after_forming [muster run --]: a group that had formed long before it is asked. The answer is one that Slurm, which
# counts in minutes, would take longer for. Operations that begin after it end with the job, the latest 10 s before.
end_after_forming() {
  fake 'echo "{\"end_time\": $(($(date +%s) + 20))}"'
  fresh
  MUSTER_RENDEZVOUS_SLURM_HELPER=$fake/helper expect_code 75 step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' \
    sh -c 'unset SLURM_JOB_END_TIME; exec "$@"' sh "$@" \
    bazel-bin/tests/launchers/laggard 3 stop "$dir/stop" >"$dir/out" 2>"$dir/err" &
  until_true 30 test -e "$fake/asked"
  until_true 5 no_helper
  # A survey takes the way that the answer took, after it.
  until_true 20 surveyed
  : >"$dir/stop"
  until_true 30 grep -qs 'did not finish before the end of the job' "$dir/err"
  rm "$dir/stop"
  wait $!
  expect_like 'message' "$(cat "$dir/err")" \
    '*Barrier #* did not finish before the end of the job: waiting for rank 3 (gpu02), *'
}
surveyed() { on gpu01 muster status >"$dir/status" 2>&1; }
no_helper() { ! "$top/tests/cluster/reap" "$TEST_CLUSTER" --list | grep -qF "$fake/helper"; }

check_slurm_helper() {
  check 'muster-slurm: prints' helper_prints
  check 'muster-slurm: is not asked where a group forms' helper_is_not_asked_at_the_start
  # These wait for deadlines, side by side.
  begin 'muster-slurm: an arbitrary layout, a rank is missing' helper_knows_an_arbitrary_layout
  begin 'muster-slurm: a heterogeneous layout, a rank is missing' helper_knows_a_heterogeneous_layout
  begin "muster-slurm: the job's end" helper_knows_the_jobs_end
  begin "muster-slurm: the job's end, after forming" end_after_forming
  begin "muster-slurm: the job's end, after forming, under run" end_after_forming muster run --
  begin 'muster-slurm: absent' helper_is_absent
  begin 'muster-slurm: none' helper_is_none
  begin 'muster-slurm: no libslurm' helper_has_no_libslurm
  begin 'muster-slurm: hangs' helper_hangs
  begin 'muster-slurm: crashes' helper_crashes
  begin 'muster-slurm: prints no JSON' helper_prints_no_json
  finish_begun
}

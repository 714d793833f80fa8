# Sourced by `run`: --label and --log-dir, and output that passes untouched.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets files; `fresh` sets dir

# Each line of both streams begins with its rank; no line is mixed with another, and the last needs no end.
labelled() {
  local rank
  fresh
  step -N4 --ntasks-per-node=3 muster run --label -- sh -c \
    'i=0; while [ $i -lt 200 ]; do echo "line $i of $RANK"; echo "error $i of $RANK" >&2; i=$((i + 1)); done
     printf "last of $RANK"' >"$dir/out" 2>"$dir/err"
  expect 'lines' "$(wc -l <"$dir/out") $(words "$dir/err" | wc -l)" '2412 2400'
  expect 'lines that are not whole' "$(grep -vE '^ ?([0-9]+): (line [0-9]+|last) of \1$' "$dir/out")" ''
  expect 'errors that are not whole' "$(grep -vE '^ ?([0-9]+): error [0-9]+ of \1$' <(words "$dir/err"))" ''
  for rank in 0 11; do
    expect "lines of rank $rank in their order" \
      "$(sed -n "s/^ *$rank: line \([0-9]*\) .*/\1/p" "$dir/out" | md5sum)" "$(seq 0 199 | md5sum)"
  done
}

# muster launch has all ranks in one process.
labelled_launch() {
  fresh
  muster launch -n 8 --label -- sh -c 'printf "%s" "$RANK"; seq -s, 5000' >"$dir/out"
  expect 'lines' "$(wc -l <"$dir/out")" 8
  expect 'lines that are not whole' "$(grep -vE "^([0-7]): \1$(seq -s, 5000)$" "$dir/out")" ''
}

logged() {
  fresh
  expect 'output as well' "$(step -N2 --ntasks-per-node=2 muster run --log-dir "$dir/logs/deep" -- \
    sh -c 'echo "out of $RANK"; printf "\001\377 err" >&2' 2>/dev/null | sort | xargs)" \
    'out of 0 out of 1 out of 2 out of 3'
  expect 'files' "$(cd "$dir/logs/deep" && echo *)" "rank0.0.gpu01.err rank0.0.gpu01.out rank1.0.gpu01.err rank1.0.gpu01.out \
rank2.0.gpu02.err rank2.0.gpu02.out rank3.0.gpu02.err rank3.0.gpu02.out"
  expect 'standard output of rank 2' "$(cat "$dir/logs/deep/rank2.0.gpu02.out")" 'out of 2'
  expect 'standard error of rank 3' "$(od -An -tx1 "$dir/logs/deep/rank3.0.gpu02.err" | xargs)" '01 ff 20 65 72 72'
}

cannot_log() {
  fresh
  echo >"$dir/file"
  expect_code 71 step -N2 --ntasks-per-node=1 muster run --log-dir "$dir/file" -- true 2>"$dir/err"
  expect_like 'why' "$(cat "$dir/err")" "*cannot write $dir/file/rank[01].0.gpu0?.out: Not a directory*"
}

# Without either, a program's standard output is that of muster itself.
untouched() {
  fresh
  expect 'the very file' "$(step -N1 -n2 muster run -- sh -c 'readlink /proc/self/fd/1; readlink /proc/$PPID/fd/1' |
    sort | uniq -c | awk '{ print $1 % 2 }' | sort -u)" 0
}

# The first failure's last lines are told, also where output goes through muster.
failure_labelled() {
  fresh
  expect_code 3 step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' muster run --label -- \
    sh -c '[ "$RANK" = 1 ] || exec sleep 1000; echo "no such model" >&2; exit 3' 2>"$dir/err"
  # Each node's standard error reaches srun on its own way: the line may be the first or the last.
  expect_like 'the line itself' $'\n'"$(<"$dir/err")"$'\n' $'*\n1: no such model\n*'
  expect_like 'what was told' "$(<"$dir/err")" '*the last lines of rank 1 on gpu02:*no such model*'
}

# A reader that stops for longer than dead_after: what 32 programs have written last is waited for together, and the
# other node goes on to receive heartbeats.
stopped_reader() {
  local first code=0
  local launch=(muster launch --nnodes 2 --endpoint gpu01:29560 -n 32 --set liveness.heartbeat=200ms
    --set liveness.suspect_after=2s --set liveness.dead_after=5s)
  fresh
  (
    set -o pipefail
    on gpu01 "${launch[@]}" --node-rank 0 --label -- sh -c 'head -c 8000 /dev/zero | tr "\\0" x; echo' 2>"$dir/err.0" |
      { sleep 12; wc -l >"$dir/lines"; }
  ) &
  first=$!
  on gpu02 "${launch[@]}" --node-rank 1 -- sleep 9 2>"$dir/err.1" || code=$?
  wait "$first" || first=failed
  expect 'exit code of the other node' "$code" 0
  [[ $first != failed ]] || fail "$(<"$dir/err.0")"
  expect 'lines' "$(<"$dir/lines")" 32
  # A loaded machine may log that it was stopped.
  expect 'what was said' "$(words "$dir/err.0" "$dir/err.1" | grep -vE 'this process was stopped|no message from|can be reached again')" ''
}

# A file system that does not answer for longer than dead_after: heartbeats go on, and no line is lost.
stalled_disk() {
  local first second code=0
  local launch=(muster launch --nnodes 2 --endpoint gpu01:29561 -n 1 --set liveness.heartbeat=200ms
    --set liveness.suspect_after=2s --set liveness.dead_after=5s)
  fresh
  mkdir "$dir/disk"
  truncate -s 16M "$dir/image"
  mkfs.ext4 -q "$dir/image"
  on gpu02 mount -o loop "$dir/image" "$dir/disk"
  on gpu01 "${launch[@]}" --node-rank 0 -- sleep 11 2>"$dir/err.0" &
  first=$!
  on gpu02 "${launch[@]}" --node-rank 1 --log-dir "$dir/disk/logs" -- sh -c \
    'seq 60 | while read -r i; do echo "line $i"; sleep 0.1; done' >"$dir/out" 2>"$dir/err.1" &
  second=$!
  until_true 20 test -s "$dir/out" || fail "no line: $(<"$dir/err.1")"
  on gpu02 sh -c "fsfreeze -f '$dir/disk'; sleep 8; fsfreeze -u '$dir/disk'"
  wait "$first" || code=$?
  expect 'exit code of the other node' "$code" 0
  code=0
  wait "$second" || code=$?
  expect 'exit code' "$code" 0
  expect 'lines' "$(wc -l <"$dir/out") $(on gpu02 sh -c "cat '$dir/disk/logs/'*.out" | wc -l)" '60 60'
  expect 'what was said' "$(words "$dir/err.0" "$dir/err.1" | grep -vE 'this process was stopped|no message from|can be reached again')" ''
  on gpu02 umount "$dir/disk"
}

check_output() {
  begin 'output: a reader that stops' stopped_reader
  if [[ -e /dev/loop-control ]] && command -v fsfreeze mkfs.ext4 >/dev/null; then
    begin 'output: a disk that stalls' stalled_disk
  else
    skip 'output: a disk that stalls' 'needs loop devices and fsfreeze'
  fi
  check 'output: --label' labelled
  check 'output: --label under muster launch' labelled_launch
  check 'output: --log-dir' logged
  check 'output: --log-dir that cannot be' cannot_log
  check 'output: untouched' untouched
  check 'output: the last lines of a failure' failure_labelled
  finish_begun
}

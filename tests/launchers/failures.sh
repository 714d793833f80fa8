# Sourced by `run`: one rank ends badly, and all end with it, promptly and with its name.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# watched PROGRAM...: eight members of it in the background; the exit code of each muster goes to DIR/code.RANK.
watched() {
  fresh
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' sh -c \
    'trap : TERM; dir=$1; shift; muster run -- "$@"; echo $? >"$dir/code.$SLURM_PROCID"' sh "$dir" "${member[@]}" "$@" \
    >"$dir/out" 2>"$dir/err" &
  watched=$!
}

codes() { cat "$dir"/code.? | xargs; }
# What they said, without who said it.
said() { sed -n 's/^muster: rank [0-7] on gpu0[1-4]: //p' "$dir/err" | sort -u; }

# killed RANK WHOSE CODES MESSAGE: within seconds where the bound is for a loaded machine; tests/faults measures.
killed() {
  local began
  watched sleep 1000
  until_true 20 has_files "$dir/ranks" 8
  kill -KILL "$(of_rank "$dir" "$1" "$2")"
  began=$SECONDS
  wait "$watched"
  [[ $((SECONDS - began)) -le 4 ]] || fail "the others ended after $((SECONDS - began)) s"
  expect 'exit codes' "$(codes)" "$3"
  expect 'messages' "$(said)" "error: $4"
  nothing_remains
}

# exits RANK
exits() {
  watched sh -c '[ "$RANK" = "$1" ] || exec sleep 1000; echo "no such model: x" >&2; echo "giving up" >&2; exit 3' sh "$1"
  wait "$watched"
  expect 'exit codes' "$(codes)" '3 3 3 3 3 3 3 3'
  expect_like messages "$(said)" \
    "error: rank $1 on gpu0? failed: exit 3*error: the last lines of rank $1 on gpu0?:"
  expect 'last lines' "$(grep -A2 'last lines' "$dir/err" | tail -n 2)" $'no such model: x\ngiving up'
  nothing_remains
}

ends_well() {
  watched true
  wait "$watched"
  expect 'exit codes' "$(codes)" '0 0 0 0 0 0 0 0'
  expect 'messages' "$(cat "$dir/err")" ''
}

not_there() {
  fresh
  expect_code 127 step -N2 --ntasks-per-node=1 muster run -- ./nothing 2>"$dir/err"
  expect messages "$(said)" 'error: rank 0 on gpu01: cannot start "./nothing": No such file or directory'
}

# Whether Slurm signals the task or its whole tree, a program hears of it once.
signalled() {
  watched sh -c 'trap "echo term >>$1/heard.$RANK; exit 0" TERM; : >"$1/waiting/$RANK"
    while :; do sleep 1000 & wait; done' sh "$files/check"
  until_true 20 has_files "$dir/waiting" 8
  ctl scancel --signal=TERM "$(cut -d' ' -f13 "$dir/ranks/0").0"
  wait "$watched"
  expect 'signals heard' "$(cat "$dir"/heard.? | xargs)" 'term term term term term term term term'
  expect 'exit codes' "$(codes)" '0 0 0 0 0 0 0 0'
  nothing_remains
}

cancelled() {
  fresh
  submit -N4 --ntasks-per-node=2 <<<"srun muster run -- ${member[*]} sleep 1000"
  until_true 20 has_files "$dir/ranks" 8
  ctl scancel "$job"
  until_true 10 nothing_remains
}

interrupted() {
  fresh
  timeout 60 env --default-signal=INT "$top/tests/cluster/on" ctl \
    srun -N4 --ntasks-per-node=2 muster run -- "${member[@]}" sleep 1000 2>"$dir/err" &
  until_true 20 has_files "$dir/ranks" 8
  kill -TERM $!
  wait $! || true
  until_true 10 nothing_remains
}

check_failures() {
  local rank node
  # The root, the leader of another node, and one that only its leader knows.
  for rank in 0 4 5; do
    node=gpu0$((rank / 2 + 1))
    check "kill -9: the program of rank $rank" killed "$rank" pid '137 137 137 137 137 137 137 137' \
      "rank $rank on $node failed: signal 9 (Killed)"
    check "kill -9: the supervisor of rank $rank" killed "$rank" supervisor \
      "$(for other in {0..7}; do [[ $other == "$rank" ]] && echo 137 || echo 69; done | xargs)" \
      "rank $rank on $node ended without a goodbye"
    check "exit 3: rank $rank" exits "$rank"
  done
  check 'a program that ends well' ends_well
  check 'a program that is not there' not_there
  check 'scancel --signal=TERM' signalled
  check 'scancel' cancelled
  check 'srun ended' interrupted
}

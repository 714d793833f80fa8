# Sourced by `run`: steps of ranks that are watched, and what can be asked about them afterwards.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the inner shell's
# shellcheck disable=SC2154 # `run` sets here, work and bin

on() { timeout --kill-after=5 120 "$here/../cluster/on" "$@"; }

muster=$bin/bootstrap/cli/muster
gpus=(gpu01 gpu02 gpu03 gpu04)

# part CMD...: a suite in itself, whose lines and counts become ours.
part() {
  local line counted=
  while IFS= read -r line; do
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ 0\ skipped$ ]]; then
      passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) counted=yes
    else
      printf '%s\n' "$line"
    fi
  done < <("$@" 2>&1 </dev/null)
  [[ -n $counted ]] || check "$*" fail 'ended without its last line'
}

# meeting_cells VARIABLE=VALUE...: cells of the matrix with ranks that meet by these: a rank that is missing, kill -9 of a rank,
# of a leader and of the root, and strangers at the root's port. With --long both under `muster run` and in the library, and
# after the group has formed.
meeting_cells() {
  local cells=('never run' 'killed rendezvous run' 'leader-killed rendezvous library' 'root-killed rendezvous library'
    'scanner rendezvous run' 'half-open rendezvous library')
  [[ -z ${MUSTER_TESTS_LONG-} ]] || cells=(never 'killed rendezvous' 'killed collective' 'leader-killed rendezvous'
    'root-killed rendezvous' 'root-killed idle' 'scanner rendezvous' 'half-open rendezvous')
  part env TMPDIR="$work" "$@" timeout --kill-after=30 600 "$here/matrix/matrix" "${cells[@]}"
}

# ---- a step

# step NAME HELD [SRUN OPTION...] -- CMD...: in the background, four ranks on each of four nodes unless the
# options say otherwise. HELD: see `task`.
step() {
  local dir=$work/$1 held=$2 options=(-N4 --ntasks-per-node=4)
  shift 2
  mkdir "$dir" "$dir/tmp"
  mkfifo "$dir/gate"
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  # A shell starts what it puts into the background with SIGINT ignored: hence the env.
  {
    code=0
    TMPDIR=$dir/tmp timeout --kill-after=5 300 env --default-signal=INT,QUIT "$here/../cluster/on" ctl \
      sh -c 'echo $$ >"$0/srun.pid"; exec "$@"' "$dir" \
      srun --input=none -w 'gpu[01-04]' "${options[@]}" "$here/task" "$dir" "$held" "$@" \
      >"$dir/srun.out" 2>"$dir/srun.err" || code=$?
    echo "$code" >"$dir/srun.end"
  } &
}

# endless NAME OPTION...: an evaluation that does not end, with all ranks at work.
endless() {
  step "$1" - -- "$muster" run "${@:2}" -- "$bin/deploy/examples/digits" \
    --data "$root/deploy/examples/data/digits.csv" --repeat 100000
  until_true 30 computing "$1" || fail "not all ranks compute: $(stderr_tail "$1") $(<"$work/$1/srun.err")"
}

# Every program has spent 50 ms: it is past its start.
computing() { [[ $("$here/family.py" "$work/$1" | awk '$4 >= 5' | wc -l) == 16 ]]; }

supervisor_of() { "$here/family.py" "$work/$1" | awk -v rank="$2" '$1 == rank { print $2 }'; }
program_of() { "$here/family.py" "$work/$1" | awk -v rank="$2" '$1 == rank { print $3 }'; }

# open_gate NAME [COUNT]: that many held ranks go on, the others end.
open_gate() {
  timeout 60 bash -c 'exec 3<>"$0"
    printf "%.*s" "$1" rrrrrrrrrrrrrrrr >&3
    while read -r -t 0 -u 3; do sleep 0.01; done' "$work/$1/gate" "${2-0}"
}

# ---- what became of it

has_ended() { [[ -s $work/$1/srun.end ]]; }

# finish NAME CODE: srun has ended, with that code.
finish() {
  until_true 60 has_ended "$1"
  expect "exit code of srun ($(head -c 300 "$work/$1/srun.err" | tr '\n' ' '))" "$(<"$work/$1/srun.end")" "$2"
}

# "0-6,8" of numbers, one a line.
fold_ranks() {
  sort -n | awk '
    NR > 1 && $1 == last + 1 { last = $1; next }
    NR > 1 { printf "%s,", first == last ? first : first "-" last }
    { first = last = $1 }
    END { if (NR) print first == last ? first : first "-" last }'
}

# ranks_with NAME CODE: those whose command ended so.
ranks_with() {
  local file
  for file in "$work/$1"/*.end; do
    [[ $file != */srun.end && $(cut -d' ' -f2 "$file" 2>/dev/null) == "$2" ]] && basename "$file" .end
  done | fold_ranks
}

ended_so() { [[ $(ranks_with "$1" "$2") == "$3" ]]; }

# ranks_saying NAME TEXT: those that wrote a line with that in it, to standard error.
ranks_saying() {
  grep -lF -- "$2" "$work/$1"/*.err | sed 's|.*/||; s|\.err$||' | grep -v srun | fold_ranks
}

somebody_said() { [[ -n $(ranks_saying "$1" "$2") ]]; }

# all_ended NAME CODE RANKS
all_ended() { expect "ranks that ended with $2" "$(ranks_with "$1" "$2")" "$3"; }

# all_said NAME RANKS TEXT: these and no others.
all_said() {
  local said
  said=$(ranks_saying "$1" "$3")
  expect "ranks that said '$3' ($(stderr_tail "$1"))" "$said" "$2"
}

# For a reader who wants to know what was said instead.
stderr_tail() {
  tail -qn 1 "$work/$1"/[0-9]*.err | sed 's/^muster: [^:]*: //' | sort | uniq -c | sort -rn | head -n 3 | tr '\n' ';'
}

# ---- what is left

inventory_of() { on "$1" "$here/inventory.py" | sed "s/^/$1: /"; }

inventory() {
  local node
  for node in "${gpus[@]}"; do inventory_of "$node"; done
}

as_before() { [[ $(inventory) == "$(<"$work/before")" ]]; }

# nothing_left NAME...: no process, listening port, socket or file of these steps.
nothing_left() {
  local name
  until_true 10 as_before || fail "left behind: $(inventory | diff "$work/before" - | tr '\n' ' ')"
  for name in "$@"; do expect 'left in TMPDIR' "$(ls "$work/$name/tmp")" ''; done
}

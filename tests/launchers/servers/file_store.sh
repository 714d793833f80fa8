# Sourced by `run`: ranks that meet by a file in a directory that all nodes share.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir and member;
# without_munge is auth.sh's

# by_file COMMAND...: everything that it starts.
by_file() {
  mkdir -p "$files/shared$begun"
  MUSTER_RENDEZVOUS_METHOD=file MUSTER_RENDEZVOUS_DIRECTORY=$files/shared$begun "$@"
}
notices() { find "$files/shared$begun" -type f | wc -l; }
no_notice_left() { expect 'notices' "$(notices)" 0; }

file_in_a_step() {
  fresh
  by_file step -N4 --ntasks-per-node=2 muster run -- "${member[@]}"
  evaluated 8
  no_notice_left
}

# Nothing but the file has a secret.
file_has_the_secret() {
  fresh
  by_file step -N3 --ntasks-per-node=2 "${without_munge[@]}" muster run -- "${member[@]}"
  evaluated 6
  no_notice_left
}

# While they wait for rank 3 the file is there, for its owner alone.
file_is_private() {
  fresh
  shut_gate
  by_file step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' sh -c 'gate=$1 place=$2
    shift 2
    [ "$SLURM_PROCID" != 3 ] || exec "$gate" "$place" "$@"
    exec "$@"' sh "$here/at_gate" "$dir" "${without_munge[@]}" muster run -- "${member[@]}" &
  until_true 20 has_files "$dir/waiting" 1
  until_true 20 one_notice
  expect 'modes' "$(find "$files/shared$begun" -mindepth 1 -printf '%y %m ' | xargs)" 'd 700 f 600'
  open_gate
  wait $!
  evaluated 4
  no_notice_left
}
one_notice() { [[ $(notices) -eq 1 ]]; }

# A launcher that says nothing of where its ranks are.
file_by_flags() {
  fresh
  by_file step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 sh -c '
    exec env -i PATH="$PATH" TOLD="$SLURM_PROCID $SLURM_LOCALID" MUSTER_RENDEZVOUS_METHOD=file \
      MUSTER_RENDEZVOUS_DIRECTORY="$MUSTER_RENDEZVOUS_DIRECTORY" muster run --rank "$SLURM_PROCID" --world-size 6 \
      --local-rank "$SLURM_LOCALID" "$@"' sh -- "${member[@]}"
  evaluated 6
}

file_after_file() {
  local places=("$files"/row-{1..5}) place
  fresh "${places[@]}"
  by_file step -N4 --ntasks-per-node=2 sh -c 'for i in 1 2 3 4 5; do muster run -- "$1" "$2/row-$i" true || exit; done' \
    sh "$here/member" "$files"
  apart "${places[@]}"
  for place in "${places[@]}"; do whole 8 "$place"; done
  no_notice_left
}

# The root of the first group is killed while it waits; its file stays, and the second group of the same step meets all
# the same.
file_of_a_killed_root() {
  fresh
  by_file step -N2 --ntasks-per-node=1 -w 'gpu[01-02]' sh -c '
    if [ "$SLURM_PROCID" = 0 ]; then
      muster run -- true 2>/dev/null &
      until find "$1" -type f | grep -q root-; do sleep 0.05; done
      kill -9 $!
      wait $!
      : >"$2/killed"
    fi
    until [ -e "$2/killed" ]; do sleep 0.05; done
    find "$1" -type f >"$2/left.$SLURM_PROCID"
    shift 2
    exec "$@"' sh "$files/shared$begun" "$dir" muster run -- "${member[@]}"
  expect_like 'what the killed root left' "$(cat "$dir/left.1")" "$files/shared$begun/muster-0/root-*"
  evaluated 2
  no_notice_left
}

file_names_the_missing() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=12s expect_code 75 by_file step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' \
    sh -c '[ "$SLURM_PROCID" != 3 ] || exec sleep 14; exec muster run -- true' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*the group did not form within 12s: 3/4 ranks; missing gpu02: 3 (never connected)*'
  no_notice_left
}

file_nowhere() {
  fresh
  expect_code 78 step -N2 --ntasks-per-node=1 muster run --set rendezvous.method=file \
    --set "rendezvous.directory=$dir/no" -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" "*rendezvous.directory cannot be used: $dir/no is not there*"
  expect_code 78 step -N2 --ntasks-per-node=1 muster run --set rendezvous.method=file -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rendezvous.method is file, and rendezvous.directory is not set*'
}

# 256 ranks; with --long also what the same takes with the ladder: seconds for `muster run -- true`, three of each in turn.
seconds_of() {
  local begin=$EPOCHREALTIME end
  step -N32 -n256 --overcommit muster run -- true
  end=$EPOCHREALTIME
  printf '%d.%02d ' $(((${end/./} - ${begin/./}) / 1000000)) $(((${end/./} - ${begin/./}) / 10000 % 100))
}

file_of_256() {
  local ladder='' file=''
  fresh
  "$top/tests/cluster/up" 32 --name "$TEST_CLUSTER-32"
  TEST_CLUSTER=$TEST_CLUSTER-32
  by_file step -N32 -n256 --overcommit muster run -- "${member[@]}"
  evaluated 256
  no_notice_left
  for _ in ${MUSTER_TESTS_LONG:+1 2 3}; do
    ladder+=$(seconds_of)
    file+=$(by_file seconds_of)
  done
  [[ -z $ladder ]] || echo "256 ranks on 32 nodes, srun muster run -- true, seconds: file $file, ladder $ladder" >"$files/times"
  "$top/tests/cluster/down" --name "$TEST_CLUSTER"
}

check_file_store() {
  local patience=120
  begin 'file: a rank is missing' file_names_the_missing
  check 'file: in a step' file_in_a_step
  check 'file: its secret' file_has_the_secret
  check 'file: is for its owner alone' file_is_private
  check 'file: the tuple by flags, no endpoint' file_by_flags
  check 'file: five groups in a row' file_after_file
  check 'file: a root was killed' file_of_a_killed_root
  check 'file: no directory' file_nowhere
  check 'file: 256 ranks on 32 nodes' file_of_256
  finish_begun
  [[ ! -e $files/times ]] || sed 's/^/    /' "$files/times"
}

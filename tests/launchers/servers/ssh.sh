# Sourced by `run`: muster launch --hosts, over real ssh between the nodes.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# A key, and an sshd on each node that takes it and nothing else. On each node root has another login shell: sh, csh, fish.
sshd_on_all() {
  [[ ! -e $keys/ssh ]] || return 0
  mkdir "$keys"
  ssh-keygen -q -t ed25519 -N '' -f "$keys/id"
  ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
  cp "$keys/id.pub" "$keys/authorized"
  printf '%s\n' 'Port 2222' "HostKey $keys/host" "AuthorizedKeysFile $keys/authorized" 'PidFile none' 'UsePAM no' \
    'PermitRootLogin prohibit-password' 'StrictModes no' "SetEnv PATH=$PATH" >"$keys/conf"
  printf '%s\n' '#!/bin/sh' "exec ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o LogLevel=ERROR \\" \
    "  -o UserKnownHostsFile=/dev/null -p 2222 -i $keys/id \"\$@\"" >"$keys/ssh"
  chmod +x "$keys/ssh"
  printf 'gpu01 slots=2\ngpu02 slots=2 # the second\n\ngpu03 slots=2\n' >"$keys/hosts"
  local node
  for node in gpu01:sh gpu02:tcsh gpu03:fish; do
    "$top/tests/cluster/on" "${node%:*}" unshare --mount sh -ec 'mkdir -p /run/sshd
      sed "s|^\(root:.*:\).*|\1$3|" /etc/passwd >"$2"
      mount --bind "$2" /etc/passwd
      exec /usr/sbin/sshd -D -e -f "$1"' sh "$keys/conf" "$keys/passwd.$node" "$(command -v "${node#*:}")" \
      </dev/null >"$keys/log.${node%:*}" 2>&1 &
  done
  for node in gpu01 gpu02 gpu03; do until_true 20 grep -q 'Server listening on 0.0.0.0' "$keys/log.$node"; done
}

# login_shell NODE SHELL
login_shell() {
  expect 'login shell' "$(ctl "$keys/ssh" "$1" "sh -c 'readlink /proc/\$PPID/exe'; true")" "$(readlink -f "$(command -v "$2")")"
}

by_ssh() { ctl muster launch --hosts "$keys/hosts" --ssh "$keys/ssh" "$@"; }

ssh_meets() {
  fresh
  by_ssh -- env TOLD='- -' "${member[@]}"
  evaluated 6
}

# Settings of this machine's environment count, what a shell would take apart arrives whole.
ssh_passes_on() {
  fresh
  MUSTER_RUN_GRACE=3s by_ssh -n 1 -- sh -c 'printf "%s|" "$RANK/$WORLD_SIZE" "$@" >"$1/ranks/$RANK"; muster config |
    grep grace: >>"$1/ranks/$RANK"' sh "$dir" "it's" 'a  b' '$HOME'
  expect 'arguments' "$(cat "$dir/ranks/2")" "2/3|$dir|it's|a  b|\$HOME|  grace: 3s"
}

ssh_fails() {
  fresh
  expect_code 5 by_ssh -- sh -c '[ "$RANK" = 3 ] && exit 5; exec sleep 100' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rank 3 on gpu02 failed: exit 5*'
}

# Only ssh's own 255 says that a machine cannot be reached.
ssh_exit_255() {
  fresh
  expect_code 255 by_ssh -- sh -c '[ "$RANK" = 3 ] && exit 255; exec sleep 100' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rank 3 on gpu02 failed: exit 255*'
  expect 'machines that were not reached' "$(grep -c 'has no ranks' "$dir/err")" 0
}

# Its rank has reported it; the machine was reached.
ssh_exit_127() {
  fresh
  expect_code 127 by_ssh -- no-such-program 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*cannot start "no-such-program": No such file or directory*'
  expect 'machines that were not reached' "$(grep -c 'has no ranks' "$dir/err")" 0
}

# Every user of a machine sees the arguments of every process.
ssh_hides() {
  fresh
  local token secret pid
  token=token-$RANDOM-$RANDOM secret=$(muster secret)
  MUSTER_SECRET=$secret MUSTER_RUN_ENV="{TOKEN: $token}" by_ssh -- \
    sh -c 'echo "$TOKEN" >"$1/ranks/$RANK"; while [ ! -e "$1/over" ]; do sleep 0.1; done' sh "$dir" &
  pid=$!
  until_true 30 has_files "$dir/ranks" 6
  cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' >"$dir/arguments" || true
  touch "$dir/over"
  wait "$pid"
  expect 'arguments of ssh that were seen' "$(grep -cxF "exec sh -c 'IFS= read -r line && eval \"\$line\"'" "$dir/arguments")" 3
  expect 'what the programs got' "$(sort -u "$dir"/ranks/*)" "$token"
  expect 'arguments that show it' "$(grep -Fe "$token" -e "$secret" "$dir/arguments")" ''
}

# The user is ssh's, and no part of the address at which ranks meet.
ssh_as_user() {
  fresh
  sed 's/^gpu01/root@gpu01/' "$keys/hosts" >"$dir/hosts"
  ctl muster launch --hosts "$dir/hosts" --ssh "$keys/ssh" -- env TOLD='- -' "${member[@]}"
  evaluated 6
}

# The program itself: a shell that would start it has lost the directory's name.
ssh_without_directory() {
  fresh
  mkdir "$dir/gone"
  expect_code 71 ctl sh -c 'cd "$1" && rmdir "$1" && shift && exec "$@"' sh "$dir/gone" \
    "${old_kernel[@]}" "$real_programs/bootstrap/cli/muster" launch --hosts "$keys/hosts" --ssh "$keys/ssh" -- true 2>"$dir/err"
  expect message "$(cat "$dir/err")" "muster: error: the working directory $dir/gone cannot be found: No such file or directory $(
    )(change to a directory that exists on every machine)"
}

ssh_unreachable() {
  fresh
  printf 'gpu01\nnowhere\n' >"$dir/hosts"
  expect_code 69 ctl muster launch --hosts "$dir/hosts" --ssh "$keys/ssh" -n 2 -- sleep 100 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" "*muster: error: nowhere has no ranks of this group: $keys/ssh ended with exit 255*"
}

# Programs of others have seven of the eight ports on the first machine.
ssh_ports_taken() {
  fresh
  mkfifo "$dir/stay"
  "$top/tests/cluster/on" gpu01 "$here/../faults/stranger.py" "$dir/ready" 62000-62007 62005 <"$dir/stay" &
  exec {stay}>"$dir/stay"
  until_true 10 test -s "$dir/ready"
  by_ssh --set rendezvous.ports=62000-62007 --set timeouts.rendezvous=20s -- sh -c ': >"$1/ranks/$RANK"' sh "$dir"
  exec {stay}>&-
  has_files "$dir/ranks" 6
}

# Neither a signal nor the sudden end of what started them leaves anybody behind.
ssh_ends() {
  local signal=$1 code=$2 pid
  fresh
  ctl muster launch --hosts "$keys/hosts" --ssh "$keys/ssh" -- sh -c 'echo $$ >"$1/ranks/$RANK"; exec sleep 100' sh "$dir" &
  pid=$!
  until_true 30 has_files "$dir/ranks" 6
  local started
  started=$(pgrep -f "muster launch --hosts $keys/hosts" | tail -n 1)
  kill "-$signal" "$started"
  expect_code "$code" wait "$pid"
  local rank
  for rank in "$dir"/ranks/*; do until_true 20 gone "$(cat "$rank")"; done
}
gone() { ! kill -0 "$1" 2>/dev/null; }

check_ssh() {
  local keys=$files/ssh
  check 'ssh: a server on each node' sshd_on_all
  check 'ssh: csh is the login shell of a node' login_shell gpu02 tcsh
  check 'ssh: fish is the login shell of a node' login_shell gpu03 fish
  check 'ssh: three machines' ssh_meets
  check 'ssh: settings and arguments' ssh_passes_on
  check 'ssh: a rank fails' ssh_fails
  check 'ssh: a rank exits with 255' ssh_exit_255
  check 'ssh: a program that is not there' ssh_exit_127
  check 'ssh: no secret in an argument' ssh_hides
  check 'ssh: another user' ssh_as_user
  check 'ssh: the directory is gone' ssh_without_directory
  check 'ssh: a machine that cannot be reached' ssh_unreachable
  check 'ssh: strangers on ports of the first machine' ssh_ports_taken
  check 'ssh: told to end' ssh_ends INT 130
  check 'ssh: killed' ssh_ends KILL 137
}

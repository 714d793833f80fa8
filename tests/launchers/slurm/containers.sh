# Sourced by `run`: every rank in a container of its own, as pyxis and Apptainer make them: new namespaces, other files.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here, top and files; `fresh` sets dir and member

readonly pid_namespace=(unshare --pid --fork --mount-proc)
# Nothing of the node's memory, temporary files and sockets; muster and its programs must remain reachable.
readonly other_files=(unshare --mount sh -c 'for place in /dev/shm /run/munge /var/tmp; do
  mount -t tmpfs none "$place" || exit; done; exec "$@"' sh)
readonly user_namespace=(unshare --user --map-current-user)
readonly fakeroot=(unshare --user --map-root-user)
readonly network_namespace=(unshare --net sh -c 'ip link set lo up; exec "$@"' sh)

# Nor of its /tmp, but for what the test itself has there: its files, and the project where it lies there.
left_in_directories() {
  unshare_files=(unshare --mount sh -c 'mount -t tmpfs none /mnt && mkdir /mnt/files /mnt/top && mount --rbind "$1" /mnt/files &&
    mount --rbind "$2" /mnt/top && mount -t tmpfs none /dev/shm && mount -t tmpfs -o mode=1777 none /tmp && mkdir -p "$1" "$2" &&
    mount --rbind /mnt/files "$1" && mount --rbind /mnt/top "$2" || exit; shift 2; exec "$@"' sh "$files" "$top")
}

# contained NODES [COMMAND...]: it wraps every task.
contained() {
  fresh
  step "-N$1" -w "gpu[01-0$1]" --ntasks-per-node=2 "${@:2}" muster run -- "${member[@]}"
  evaluated $(($1 * 2))
}

# srun sets the variables of the job to those of the step.
one_task_of_two_nodes() {
  fresh
  batch -N2 <<<"srun -N1 -n1 ${pid_namespace[*]} muster run -- ${member[*]}"
  evaluated 1
}

# sbatch -N2 sets no SLURM_NTASKS: the one of the step that called it stays.
inherited_step() {
  fresh
  printf '%s\n' '#!/bin/sh' "${pid_namespace[*]} muster run -- true" "echo \$? >$dir/ended" >"$dir/script"
  step -N1 -n1 -w gpu03 sbatch --quiet --output="$dir/out" -w 'gpu[03-04]' -N2 "$dir/script"
  until_true 30 test -s "$dir/ended" || fail "$(cat "$dir/out")"
  expect 'exit code' "$(cat "$dir/ended")" 64
  expect_like message "$(cat "$dir/out")" '*this is the batch script of Slurm job*'
}

# The same with a secret in place of munge, whose socket is hidden.
contained_with_secret() { MUSTER_SECRET=$(muster secret) contained "$@"; }

# The tasks' environment reaches a container, but not what Slurm says of the task; enroot's hook sets PyTorch's five.
stripped() {
  fresh
  step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 sh -c '
    exec env -u SLURM_PROCID -u SLURM_LOCALID -u SLURM_TASK_PID TOLD="$SLURM_PROCID $SLURM_LOCALID" \
      RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" WORLD_SIZE="$SLURM_NTASKS" MASTER_ADDR=gpu01 MASTER_PORT=61235 \
      "$@"' sh "${pid_namespace[@]}" muster run -- "${member[@]}"
  evaluated 4
}

# Without the hook: what is missing is named.
stripped_bare() {
  fresh
  expect_code 65 step -N1 -n1 env -u SLURM_PROCID -u SLURM_LOCALID -u SLURM_TASK_PID muster run -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" \
    '*a task of a Slurm step, with a part of its variables removed: missing SLURM_PROCID, SLURM_LOCALID (*'
}

# The ranks of a node still meet, by files, and so do their programs' data; nothing of it stays behind.
apart_on_one_node() {
  fresh
  step -N1 -n3 "${network_namespace[@]}" muster run -- "${member[@]}"
  evaluated 3
  expect_output 'what is left' '' every_node 'ls /dev/shm'
}

# The ranks of a node cannot meet: each goes to the root, and no leader is waited for or blamed.
nothing_shared() {
  left_in_directories
  contained 2 "${unshare_files[@]}" 2>"$files/err"
  expect 'what was said' "$(words "$files/err")" ''
}

# A program in a container that hides the supervisor's socket: no leftover of an earlier run, and what to do.
hidden_supervisor() {
  fresh
  expect_code 65 step -N1 -n2 muster run -- "${other_files[@]}" "${member[@]}" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*the supervisor runs, but its socket, MUSTER_CONTROL=/dev/shm/muster-*, cannot be reached: this process is in a container that does not share /dev/shm, or /dev/shm/muster-* was removed (bind /dev/shm into the container; *'
}

# The same with a network of its own: the kernel does not list the socket there, and N worlds of one are not what was asked for.
hidden_supervisor_and_network() {
  local place
  for place in "step -N1 -n2 muster run" "on gpu01 muster launch -n 2" "step -N1 -n1 muster launch -n 2" \
    "step -N1 -n1 muster run --nproc-per-node 2"; do
    fresh
    # shellcheck disable=SC2086 # words
    expect_code 65 $place -- "${network_namespace[@]}" "${other_files[@]}" bazel-bin/deploy/examples/digits 2>"$dir/err"
    expect_like message "$(cat "$dir/err")" '*no supervisor answers at MUSTER_CONTROL=/dev/shm/muster-*, but this process has MUSTER_RANK=? and MUSTER_WORLD_SIZE=2 (in a container: bind /dev/shm into it; *'
  done
}

# No way to the other node: said at once or at the deadline, by who is missing.
unconnected() {
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=3s expect_code 75 step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 "${network_namespace[@]}" \
    muster run -- "${member[@]}" 2>"$dir/err"
  expect_like 'what rank 0 said' "$(cat "$dir/err")" '*1/2 ranks; missing gpu02: 1 (*'
  expect_like 'what rank 1 said' "$(cat "$dir/err")" '*the root, rank 0 on gpu01,*Network is unreachable*'
}

# A program that ends badly is still known to all.
dies() {
  fresh
  expect_code 3 step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 "${pid_namespace[@]}" \
    muster run -- sh -c '[ "$RANK" = 1 ] && exit 3; exec sleep 100' 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rank 1 on gpu01 failed: exit 3*'
}

# A Debian that is older than the one muster was built on: the loader names what is missing, and a `muster run` outside
# serves the program inside. Some 60 MB to download.
older_glibc() {
  local root=$files/bullseye
  command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -q debootstrap >/dev/null
  debootstrap --variant=minbase bullseye "$root" >"$files/debootstrap.log" 2>&1 || fail "$(tail -n 3 "$files/debootstrap.log")"
  cp -L "$real_programs/bootstrap/cli/muster" "$root/usr/local/bin"
  fresh
  expect_code 1 step -N1 -n1 chroot "$root" muster resolve 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" "*version \`GLIBC_2.*' not found (required by *"
  step -N2 -w 'gpu[01-02]' --ntasks-per-node=2 muster run -- \
    chroot "$root" sh -c 'echo "$RANK of $WORLD_SIZE in $(cut -d. -f1 /etc/debian_version)"' >"$dir/out"
  expect 'who ran' "$(sort "$dir/out")" "$(printf '%s of 4 in 11\n' 0 1 2 3)"
}

check_containers() {
  check 'container: process ids' contained 2 "${pid_namespace[@]}"
  check 'container: process ids, on one node' contained 1 "${pid_namespace[@]}"
  check 'container: process ids, a program ends badly' dies
  check 'container: process ids, one task of a job of two nodes' one_task_of_two_nodes
  check 'container: process ids, a batch script that inherited a step' inherited_step
  check 'container: files' contained_with_secret 2 "${other_files[@]}"
  check 'container: files, nothing shared' nothing_shared
  check 'container: files, the supervisor hidden' hidden_supervisor
  check 'container: files and network, the supervisor hidden' hidden_supervisor_and_network
  check 'container: user' contained 2 "${user_namespace[@]}"
  check 'container: user, as root' contained 2 "${fakeroot[@]}"
  check 'container: network, on one node' apart_on_one_node
  check 'container: network, two nodes' unconnected
  check 'container: all but the network' \
    contained_with_secret 2 "${user_namespace[@]}" "${pid_namespace[@]}" "${other_files[@]}"
  check "container: the task's variables removed, enroot's set" stripped
  check "container: the task's variables removed" stripped_bare
  [[ -z ${MUSTER_TESTS_LONG-} ]] || check 'container: an older glibc' older_glibc
}

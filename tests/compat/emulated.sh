# Sourced by `run`: the aarch64 binary under qemu's user emulation, as there is no such machine. Every program in the root is
# emulated, each as a process of its own; the kernel is this machine's. Not shown by this: a cluster (munge, Slurm and MPI of
# the root do not run), how fast it is, the stacks of `status` (/proc shows qemu's), perf and io_uring, which qemu lacks.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # the variables are the shells' of the root; `run` sets top, files and accuracy

# In a user namespace the kernel's list of foreign programs is one's own (since Linux 6.7), and goes with it.
emulated() {
  # shellcheck disable=SC2016 # the inner shells'
  unshare --user --map-root-user --mount --pid --fork --kill-child sh -euc '
    root=$1 files=$2 handler=$3
    shift 3
    mount -t proc proc /proc
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    printf %s "$handler" >/proc/sys/fs/binfmt_misc/register
    for place in /proc /sys /dev; do mount --rbind "$place" "$root$place"; done
    mount --bind /tmp "$root/tmp"
    exec chroot "$root" sh -c "cd \"\$1\" && PATH=\$PWD/bin:/usr/bin:/bin && shift && exec \"\$@\"" sh "$files" "$@"' \
    sh "$emulated_root" "$files/aarch64" "$handler" "$@"
}

emulated_digits() {
  expect 'last line' "$(emulated digits --data digits.csv --predictions alone | tail -n 1)" "$accuracy"
}
emulated_launch() {
  expect 'last line' "$(emulated muster launch -n 4 -- digits --data digits.csv --predictions predictions | tail -n 1)" "$accuracy"
  cmp "$files/aarch64/predictions" "$files/aarch64/alone"
}
emulated_failure() {
  local code=0
  emulated muster launch -n 4 -- sh -c '[ $RANK = 2 ] && exit 3; exec sleep 1000' 2>"$files/aarch64/err" || code=$?
  expect 'exit code' "$code" 3
  expect_like message "$(<"$files/aarch64/err")" '*rank 2 on * failed: exit 3*'
}
emulated_version() { expect_like version "$(emulated muster --version)" 'muster *'; }

work_place_aarch64() {
  local from=${MUSTER_RELEASE_DIR_AARCH64-}
  if [[ -z $from ]]; then from=$("$top/deploy/release/build" aarch64 | tail -n 1); fi
  mkdir -p "$files/aarch64/bin"
  cp -L "$from"/bin/muster "$from"/test/digits "$files/aarch64/bin"
  cp "$top/deploy/examples/data/digits.csv" "$files/aarch64"
}

check_on_emulation() {
  local emulated_root=$2 handler
  if ! type -P qemu-aarch64-static >/dev/null; then
    skip "$1" 'no root: no qemu-aarch64-static on this machine'
    return
  fi
  if ! unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
    skip "$1" 'no root: this kernel has no binfmt_misc in a user namespace (Linux 6.7)'
    return
  fi
  # ELF, 64 bits, little-endian, executable or shared, aarch64. F: qemu is opened now, not by its name in the root.
  handler=':aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'
  handler+='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'
  handler+=$(type -P qemu-aarch64-static):F
  check "$1: the release" work_place_aarch64
  check "$1: --version" emulated_version
  check "$1: the digits of one process" emulated_digits
  check "$1: launch -n 4" emulated_launch
  check "$1: launch -n 4, a rank fails" emulated_failure
}

# Sourced by `run`: the aarch64 binary under qemu's user emulation, as there is no such machine. Every program in the root is
# emulated, each as a process of its own; the kernel is this machine's. Not shown by this: a cluster (munge, Slurm and MPI of
# the root do not run), how fast it is, the stacks of `status` (/proc shows qemu's), perf and io_uring, which qemu lacks.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # the variables are the shells' of the root; `run` sets top, files and accuracy

emulated() {
  "$compat/emulate" --chroot "$emulated_root" sh -c 'cd "$1" && PATH=$PWD/bin:/usr/bin:/bin && shift && exec "$@"' \
    sh "$files/aarch64" "$@"
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

# The unit tests of comm and of the resolver, compiled as the release is.
emulated_units() {
  local target case targets=(//tests/comm/... //tests/bootstrap/resolve/...) cases=''
  while read -r target case _; do
    if [[ $case == '*' ]]; then targets+=("-$target"); else cases+=:$case; fi
  done < <(grep '^//' "$compat/not_emulated.txt")
  "$top/tests/unit" --release aarch64 --run_under="$compat/emulate $emulated_root" --test_timeout=600 \
    --test_filter="*-${cases#:}" -- "${targets[@]}"
}

check_on_emulation() {
  local emulated_root=$2
  if ! type -P qemu-aarch64-static >/dev/null; then
    skip "$1" 'no root: no qemu-aarch64-static on this machine'
    return
  fi
  if ! unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
    skip "$1" 'no root: this kernel has no binfmt_misc in a user namespace (Linux 6.7)'
    return
  fi
  check "$1: the release" work_place_aarch64
  check "$1: --version" emulated_version
  check "$1: the digits of one process" emulated_digits
  check "$1: launch -n 4" emulated_launch
  check "$1: launch -n 4, a rank fails" emulated_failure
  [[ -n ${MUSTER_TESTS_LONG-} ]] || return
  sed -n 's|^//|not emulated: //|p' "$compat/not_emulated.txt"
  check "$1: the unit tests of comm and of the resolver" emulated_units
}

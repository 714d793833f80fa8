# Sourced by `run`: the aarch64 binary under qemu's user emulation, as there is no such machine. Every program in the root is
# emulated, each as a process of its own; the kernel is this machine's. Where the kernel cannot have a list of foreign programs
# for the test alone (binfmt_misc in a user namespace, Linux 6.7), qemu's name stands in front of each program: less is shown then.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # the variables are the shells' of the root; `run` sets top, files and accuracy

# $prefix: qemu where each program needs it in front.
emulated() {
  if [[ ${#prefix[@]} -eq 0 ]]; then
    "$compat/emulate" --chroot "$emulated_root" sh -c 'cd "$1" && PATH=$PWD/bin:/usr/bin:/bin && shift && exec "$@"' \
      sh "$files/aarch64" "$@"
  else
    (cd "$files/aarch64" && "${prefix[@]}" "bin/$1" "${@:2}")
  fi
}

emulated_digits() {
  expect_last_line 'last line' "$accuracy" emulated digits --data digits.csv --predictions alone
}
emulated_launch() {
  local program=("${prefix[@]}" "${prefix[@]:+bin/}digits")
  expect_last_line 'last line' "$accuracy" emulated muster launch -n 4 -- "${program[@]}" --data digits.csv --predictions predictions
  cmp "$files/aarch64/predictions" "$files/aarch64/alone"
}
emulated_failure() {
  local code=0
  emulated muster launch -n 4 -- sh -c '[ $RANK = 2 ] && exit 3; exec sleep 1000' 2>"$files/aarch64/err" || code=$?
  expect 'exit code' "$code" 3
  expect_like message "$(<"$files/aarch64/err")" '*rank 2 on * failed: exit 3*'
}
# The wheel, unpacked: pip does nothing else with it.
emulated_wheel() {
  local wheel python=python3 script='import muster
with muster.init() as comm:
    total = muster.all_reduce(comm.rank)
    if comm.rank == 0: print(total, comm.size, muster.__version__ == muster.version())'
  wheel=$("$top/deploy/release/wheel" --out "$files/aarch64/wheel" --programs "$(release_aarch64)" aarch64)
  python3 -m zipfile -e "$wheel" "$files/aarch64/python"
  [[ ${#prefix[@]} -eq 0 ]] || python=$emulated_root/usr/bin/python3
  PYTHONPATH=python expect_output output '6 4 True' emulated muster launch -n 4 -- "${prefix[@]}" "$python" -c "$script"
}
emulated_version() {
  local version
  version=$(emulated muster --version)
  expect_like version "$version" 'muster *glibc 2.17 or later*'
}

release_aarch64() {
  if [[ ${MUSTER_RELEASE_DIR_AARCH64-} ]]; then
    echo "$MUSTER_RELEASE_DIR_AARCH64"
  else
    "$top/deploy/release/build" aarch64 | tail -n 1
  fi
}

work_place_aarch64() {
  local from
  from=$(release_aarch64)
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
  "$top/tests/unit" --release aarch64 --run_under="$compat/emulate $emulated_root" --test_timeout=1800 \
    --test_filter="*-${cases#:}" -- "${targets[@]}"
}

has_foreign_programs() {
  unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null
}

readonly not_emulated=(
  "a cluster: the root's munge, Slurm and MPI do not run"
  'how fast it is'
  'pages of 64 KiB, as kernels for GH200 have: pages are those of this machine'
  "the stacks of status: /proc shows qemu's"
  'perf and io_uring, which qemu lacks'
)

check_on_emulation() {
  local emulated_root=$2 prefix=()
  if ! type -P qemu-aarch64-static >/dev/null; then
    skip "$1" 'no root: no qemu-aarch64-static on this machine'
    return
  fi
  if ! has_foreign_programs; then
    prefix=(qemu-aarch64-static -L "$emulated_root")
    echo "not emulated: the unit tests: this kernel has no binfmt_misc in a user namespace (Linux 6.7)"
  fi
  printf 'not emulated: %s\n' "${not_emulated[@]}"
  check "$1: the release" work_place_aarch64
  check "$1: --version" emulated_version
  check "$1: the digits of one process" emulated_digits
  check "$1: launch -n 4" emulated_launch
  check "$1: launch -n 4, a rank fails" emulated_failure
  check "$1: the wheel under launch -n 4" emulated_wheel
  [[ -n ${MUSTER_TESTS_LONG-} && ${#prefix[@]} -eq 0 ]] || return
  sed -n 's|^//|not emulated: //|p' "$compat/not_emulated.txt"
  check "$1: the unit tests of comm and of the resolver" emulated_units
}

# Sourced by `run`: the wheel, made of these programs, in a Python of its own.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets here, top and files

# As deploy/release/build leaves them.
wheel_programs() {
  local programs=$real_programs
  mkdir -p "$files/wheel_programs/bin" "$files/wheel_programs/lib"
  cp "$programs/bootstrap/cli/muster" "$files/wheel_programs/bin"
  cp "$programs/bootstrap/c/libmuster.so" "$files/wheel_programs/lib/libmuster.so.0"
}

wheel_arch=$(uname -m)
# make_wheel DIR PLATFORM [ARCH]
make_wheel() { "$top/deploy/release/wheel" --programs "$files/wheel_programs" --out "$1" --platform "$2" "${@:3}"; }

# Another user's umask, and other times of the files.
wheel_twice() {
  wheel_programs
  make_wheel "$files/wheel" "linux_$wheel_arch"
  touch "$files"/wheel_programs/*/*
  (umask 077 && make_wheel "$files/wheel_again" "linux_$wheel_arch")
  cmp "$files"/wheel/*.whl "$files"/wheel_again/*.whl
}

# wheel_in FOLDER: its module there, for PYTHONPATH.
wheel_in() {
  if [[ ! -d $files/wheel ]]; then
    wheel_programs
    make_wheel "$files/wheel" "linux_$wheel_arch"
  fi
  python3 -m pip install --quiet --no-index --no-deps --target "$1" "$files"/wheel/*.whl
}

# No release's programs are so portable.
wheel_refused() {
  local other=aarch64
  [[ $wheel_arch != aarch64 ]] || other=x86_64
  expect_like 'another tag' "$(expect_code 65 make_wheel "$files/refused" "manylinux_2_5_$wheel_arch" 2>&1)" '*auditwheel found glibc 2.*'
  expect_like 'another machine' "$(expect_code 65 make_wheel "$files/refused" "manylinux_2_17_$other" "$other" 2>&1)" \
    "*bin/muster is of *, expected $other"
  expect 'what was made' "$(ls "$files/refused" 2>/dev/null)" ''
}

# pip leaves the empty folders of data files.
files_of() { (cd "$1" && find . ! -name '*.pyc' ! -name __pycache__ ! \( -type d -path './share*' \) | sort); }

# Without network and without compiler.
in_venv() { env -u PYTHONPATH -u LD_LIBRARY_PATH PATH="$files/venv/bin:$PATH" "$@"; }
wheel_installed() {
  python3 -m venv "$files/venv"
  files_of "$files/venv" >"$files/before"
  in_venv pip install --quiet --no-index --no-deps "$files"/wheel/*.whl
  expect_output 'the command' "$(muster --version)" "$files/venv/bin/muster" --version
  cmp "$files/venv/bin/muster" "$files/wheel_programs/bin/muster"
}

wheel_in_srun() {
  expect_output output 'site-packages: sum 6 of [0, 1, 2, 3]' \
    in_venv "$top/tests/cluster/on" ctl srun -N2 --ntasks-per-node=2 "${old_kernel[@]}" "$@" python "$here/python/installed.py"
}

wheel_uninstalled() {
  in_venv pip uninstall --quiet --yes muster-hpc
  files_of "$files/venv" >"$files/after"
  diff "$files/before" "$files/after"
}

with_tools() { in_venv env PYTHONPATH="$(echo "$tools"/lib/python3*/site-packages)" "$@"; }

# The clone's own files; the programs are links.
wheel_editable() {
  local tools
  tools=$("$top/deploy/release/wheel" --tools)
  mkdir "$files/clone"
  cp -rL "$top/bootstrap/python/." "$files/clone"
  MUSTER_NATIVE=$files/wheel_programs with_tools pip install --quiet --no-index --no-build-isolation --editable "$files/clone"
  expect_output 'the command' "$(muster --version)" "$files/venv/bin/muster" --version
  expect 'the library' "$(readlink "$files/clone/muster/libmuster.so.0")" "$files/wheel_programs/lib/libmuster.so.0"
  echo '__version__ = "7"' >>"$files/clone/muster/__init__.py"
  expect 'the module' "$(cd / && in_venv python -c 'import muster; print(muster.init().size, muster.__version__, muster.__file__)')" \
    "1 7 $files/clone/muster/__init__.py"
  wheel_uninstalled
}

# It contains sources alone, names what it needs, and becomes a wheel.
wheel_sdist() {
  local tools said
  tools=$("$top/deploy/release/wheel" --tools)
  git -C "$top" archive HEAD | tar -x -C "$(mkdir "$files/sources" && echo "$files/sources")"
  git -C "$files/sources" init --quiet
  git -C "$files/sources" add --all
  with_tools python -m build --sdist --no-isolation --outdir "$files/sdist" "$files/sources/bootstrap/python" >/dev/null
  tar -tzf "$files"/sdist/*.tar.gz >"$files/listed"
  grep -q '/source/bootstrap/c/muster.h$' "$files/listed"
  expect 'programs in it' "$(grep -E '\.so(\.0)?$|bin/muster$' "$files/listed" || true)" ''
  mkdir "$files/no_bazel"
  ln -s "$(command -v sh)" "$files/no_bazel/sh"
  said=$(PATH=$files/venv/bin:$files/no_bazel PYTHONPATH=$(echo "$tools"/lib/python3*/site-packages) \
    expect_code 1 pip install --no-index --no-build-isolation "$files"/sdist/*.tar.gz 2>&1)
  expect_like 'without Bazel' "$said" '*Bazel is not installed*pip install --only-binary :all: muster-hpc*'
  in_venv env PYTHONPATH="$(echo "$tools"/lib/python3*/site-packages)" pip install --quiet --no-index --no-deps --no-build-isolation \
    "$files"/sdist/*.tar.gz
  expect_output 'the command' "$(muster --version)" "$files/venv/bin/muster" --version
  wheel_in_srun muster run --
  in_venv pip uninstall --quiet --yes muster-hpc
}

check_wheel() {
  check 'wheel: the same bytes twice' wheel_twice
  check 'wheel: refused for another tag and machine' wheel_refused
  check 'wheel: pip installs it' wheel_installed
  check 'wheel: srun' wheel_in_srun
  check 'wheel: srun muster run' wheel_in_srun muster run --
  check 'wheel: nothing stays behind' wheel_uninstalled
  if [[ ${MUSTER_TESTS_LONG-} ]]; then
    check 'wheel: an editable install' wheel_editable
    check 'wheel: the sdist' wheel_sdist
  fi
}

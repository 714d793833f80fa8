# Sourced by the tests of deploy/install: a folder to work in, and made-up releases. $1: INSTALL.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the tests use them
set -euo pipefail
install=$PWD/$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
architecture=$(uname -m)

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# release VERSION ARCHITECTURE [FILE]...: a tarball whose muster prints its version, and takes note of `doctor`. A FILE has its version.
release() {
  local name=muster-$1-linux-$2 file
  mkdir -p "$name/bin"
  cat >"$name/bin/muster" <<EOF
#!/bin/sh
[ "\$1" != doctor ] || echo examined >>"$work/doctor"
echo "muster $1"
EOF
  cp "$name/bin/muster" "$name/bin/muster-slurm"
  chmod +x "$name"/bin/*
  for file in "${@:3}"; do
    mkdir -p "$name/$(dirname "$file")"
    echo "$1" >"$name/$file"
  done
  tar -czf "$name.tar.gz" "$name"
  rm -r "$name"
}

#!/bin/bash
# deploy/install with made-up tarballs: what it puts where, and what it refuses.
# usage: install_test.sh INSTALL
set -euo pipefail
install=$PWD/$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
architecture=$(uname -m)

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# release VERSION ARCHITECTURE: a tarball whose muster tells its version, and takes note of `doctor`.
release() {
  local name=muster-$1-linux-$2
  mkdir -p "$name/bin"
  cat >"$name/bin/muster" <<EOF
#!/bin/sh
[ "\$1" != doctor ] || echo examined >>"$work/doctor"
echo "muster $1"
EOF
  cp "$name/bin/muster" "$name/bin/muster-slurm"
  chmod +x "$name"/bin/*
  tar -czf "$name.tar.gz" "$name"
  rm -r "$name"
}

# refuses MESSAGE ARGUMENT...: nothing is left of what it began.
refuses() {
  local message=$1 code=0
  shift
  sh "$install" "$@" --prefix "$work/refused" 2>said || code=$?
  [[ $code -eq 1 ]] || fail "exit code $code for $*"
  grep -qF "$message" said || fail "$(cat said), not: $message"
  [[ ! -e refused || -z $(find refused -type f) ]] || fail "left: $(find refused -type f)"
}

release 1.0.0 "$architecture"
sh "$install" "muster-1.0.0-linux-$architecture.tar.gz" --prefix "$work/home" >out 2>said
[[ $(home/bin/muster --version) == 'muster 1.0.0' ]] || fail 'the link leads elsewhere'
[[ $(home/bin/muster-slurm) == 'muster 1.0.0' ]] || fail 'no link for muster-slurm'
[[ $(cat doctor) == examined ]] || fail 'the machine was not examined'
grep -q 'no SHA256SUMS' said || fail "$(cat said)"
grep -q 'add it to PATH' said || fail "$(cat said)"

# A newer one, with its checksum; then the same again. The older stays.
release 1.1.0 "$architecture"
sha256sum muster-1.*.tar.gz >SHA256SUMS
for _ in 1 2; do
  PATH=$work/home/bin:$PATH sh "$install" "$work/muster-1.1.0-linux-$architecture.tar.gz" --prefix home >out 2>said
  [[ $(home/bin/muster --version) == 'muster 1.1.0' ]] || fail 'not the newer one'
done
! grep -q 'SHA256SUMS\|PATH' said || fail "$(cat said)"
[[ $(ls -A home/lib/muster) == "muster-1.0.0-linux-$architecture"$'\n'"muster-1.1.0-linux-$architecture" ]] ||
  fail "$(ls -A home/lib/muster)"

# As a URL.
sh "$install" "file://$work/muster-1.0.0-linux-$architecture.tar.gz" --prefix "$work/from-url" >out 2>said
[[ $(from-url/bin/muster --version) == 'muster 1.0.0' ]] || fail 'not from a URL'

# As the one line has it: the script comes by a pipe.
sh -s -- "file://$work/muster-1.0.0-linux-$architecture.tar.gz" --prefix "$work/from-pipe" <"$install" >out 2>said
[[ $(from-pipe/bin/muster --version) == 'muster 1.0.0' ]] || fail 'not from a pipe'

release 1.2.0 vax
refuses "is for vax, and this machine is $architecture" muster-1.2.0-linux-vax.tar.gz
refuses 'is not the tarball of a release' other.tar.gz
refuses 'cannot get muster-9.0.0' "muster-9.0.0-linux-$architecture.tar.gz"
refuses 'it needs the path or URL of a tarball'
code=0
env -u HOME sh "$install" "muster-1.0.0-linux-$architecture.tar.gz" 2>said || code=$?
[[ $code -eq 1 && $(cat said) == 'install: error: HOME is not set: give --prefix DIR' ]] || fail "$code: $(cat said)"
refuses 'there is no option --force' --force
echo more >>"muster-1.1.0-linux-$architecture.tar.gz"
refuses 'has another checksum than SHA256SUMS beside it' "$work/muster-1.1.0-linux-$architecture.tar.gz"
echo no tarball >"muster-1.3.0-linux-$architecture.tar.gz"
refuses 'does not name it' "$work/muster-1.3.0-linux-$architecture.tar.gz"
rm SHA256SUMS
refuses 'cannot unpack' "muster-1.3.0-linux-$architecture.tar.gz"

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

# release VERSION ARCHITECTURE [FILE]...: a tarball whose muster tells its version, and takes note of `doctor`. A FILE has its version.
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

# refuses MESSAGE ARGUMENT...: nothing is left of what it began.
refuses() {
  local message=$1 code=0
  shift
  sh "$install" "$@" --prefix "$work/refused" 2>said || code=$?
  [[ $code -eq 1 ]] || fail "exit code $code for $*"
  grep -qF -- "$message" said || fail "$(cat said), not: $message"
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

# Everything that a shell, man, a compiler or a user looks for is in its usual place. Folders of muster's own are one link.
files=(share/man/man1/muster.1 share/man/man5/muster.yaml.5 share/bash-completion/completions/muster
  share/zsh/site-functions/_muster share/fish/vendor_completions.d/muster.fish
  lib/libmuster.so.0 include/muster.h lib/pkgconfig/muster.pc)
usual=("${files[@]}" lib/cmake/muster/muster-config.cmake share/muster/sbatch/eval.sbatch share/muster/configs/eval.yaml)
links() { (cd "$work/full" && find . -path ./lib/muster -prune -o -type l -print | LC_ALL=C sort); }
release 2.0.0 "$architecture" "${usual[@]}" share/man/man1/muster-old.1 share/doc/muster/README.md
release 2.1.0 "$architecture" "${usual[@]}"
mkdir -p full/share/man/man1
echo mine >full/share/man/man1/mine.1
ln -s mine.1 full/share/man/man1/other.1
for version in 2.0.0 2.1.0; do
  sh "$install" "muster-$version-linux-$architecture.tar.gz" --prefix full >out 2>said || fail "$(cat said)"
  for file in "${usual[@]}"; do [[ $(cat "full/$file") == "$version" ]] || fail "$version: $file is $(cat "full/$file")"; done
  [[ -h full/share/muster && -h full/lib/cmake/muster ]] || fail 'folders of muster alone are no links'
  [[ $version == 2.1.0 || $(cat full/share/man/man1/muster-old.1) == 2.0.0 ]] || fail 'a page is missing'
done
expected=$(printf './%s\n' bin/muster bin/muster-slurm lib/cmake/muster share/man/man1/other.1 share/muster "${files[@]}" | LC_ALL=C sort)
[[ $(links) == "$expected" ]] || fail "$(diff <(links) <(echo "$expected"))"
cp -r full/share/muster/sbatch copied
[[ -f copied/eval.sbatch && ! -h copied/eval.sbatch ]] || fail 'a copy of the batch scripts is links'
mv full moved
[[ $(cat moved/share/man/man1/muster.1) == 2.1.0 ]] || fail 'a link names the folder'
mv moved full

# A folder that was unpacked by hand is the user's.
rm full/share/muster
mkdir full/share/muster
sh "$install" "muster-2.1.0-linux-$architecture.tar.gz" --prefix full >out 2>said || fail "$(cat said)"
[[ -d full/share/muster && ! -h full/share/muster && -z $(ls -A full/share/muster) ]] || fail 'a folder was replaced'
grep -qF "$work/full/share/muster is a directory, and stays as it is" said || fail "$(cat said)"
rmdir full/share/muster

# Only what was the user's stays.
sh "$install" --remove --prefix full >out 2>said || fail "$(cat said)"
[[ $(cat said) == "install: the releases in $work/full/lib/muster are removed, and the links to them" ]] || fail "$(cat said)"
[[ $(cd full && find . ! -type d | LC_ALL=C sort) == './share/man/man1/mine.1'$'\n''./share/man/man1/other.1' ]] || fail "left: $(find full)"
[[ ! -e full/bin && ! -e full/lib ]] || fail "left: $(find full)"
rm -r refused
refuses "there is no release in $work/refused/lib/muster" --remove
refuses '--remove takes all releases away: leave other.tar.gz out' --remove other.tar.gz

#!/bin/bash
# deploy/install with made-up tarballs: what it puts where, and what it refuses.
# usage: install_test.sh INSTALL
# shellcheck source=tests/deploy/install_release.sh
. "${0%/*}/install_release.sh"

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

# GNU tar on a file system without space: its first line does not name the reason.
mkdir no-space
printf '%s\n' '#!/bin/sh' 'echo "tar: muster: Wrote only 2048 of 10240 bytes" >&2' 'exit 2' >no-space/tar
chmod +x no-space/tar
PATH=$work/no-space:$PATH refuses 'Wrote only 2048 of 10240 bytes: it takes 20 MB, and ' "muster-1.0.0-linux-$architecture.tar.gz"

# Everything that a shell, man, a compiler or a user needs is in its usual place. A folder of muster's own is one link.
files=(share/man/man1/muster.1 share/man/man5/muster.yaml.5 share/bash-completion/completions/muster
  share/zsh/site-functions/_muster share/fish/vendor_completions.d/muster.fish
  lib/libmuster.so.0 include/muster.h lib/pkgconfig/muster.pc)
usual=("${files[@]}" lib/cmake/muster/muster-config.cmake)
shared=(share/muster/sbatch/eval.sbatch share/muster/configs/eval.yaml)
links() { (cd "$work/full" && find . -path ./lib/muster -prune -o -type l -print | LC_ALL=C sort); }
release 2.0.0 "$architecture" "${usual[@]}" "${shared[@]}" share/man/man1/muster-old.1 share/doc/muster/README.md
release 2.1.0 "$architecture" "${usual[@]}" "${shared[@]}"
mkdir -p full/share/man/man1
echo mine >full/share/man/man1/mine.1
ln -s mine.1 full/share/man/man1/other.1
for version in 2.0.0 2.1.0; do
  sh "$install" "muster-$version-linux-$architecture.tar.gz" --prefix full >out 2>said || fail "$(cat said)"
  for file in "${usual[@]}"; do [[ $(cat "full/$file") == "$version" ]] || fail "$version: $file is $(cat "full/$file")"; done
  [[ -h full/lib/cmake/muster ]] || fail 'the folder of muster alone is no link'
  [[ $version == 2.1.0 || $(cat full/share/man/man1/muster-old.1) == 2.0.0 ]] || fail 'a page is missing'
done
expected=$(printf './%s\n' bin/muster bin/muster-slurm lib/cmake/muster share/man/man1/other.1 "${files[@]}" | LC_ALL=C sort)
[[ $(links) == "$expected" ]] || fail "$(diff <(links) <(echo "$expected"))"
# As the page has it.
cp -r "$(dirname "$(readlink -f full/bin/muster)")/../share/muster/sbatch" copied
[[ -f copied/eval.sbatch && ! -h copied/eval.sbatch ]] || fail 'a copy of the batch scripts is links'
mv full moved
[[ $(cat moved/share/man/man1/muster.1) == 2.1.0 ]] || fail 'a link names the folder'
mv moved full

# What install did not make is the user's: folders, files, and links to elsewhere, also to another installation.
sh "$install" "muster-2.0.0-linux-$architecture.tar.gz" --prefix other >out 2>said || fail "$(cat said)"
rm -r full/lib/cmake/muster full/include/muster.h full/lib/libmuster.so.0 full/share/man/man1/muster.1
mkdir full/lib/cmake/muster
echo mine >full/include/muster.h
ln -s /nowhere full/lib/libmuster.so.0
ln -s "$work/other/lib/muster/muster-2.0.0-linux-$architecture/share/man/man1/muster.1" full/share/man/man1/muster.1
ln -s "$work/other/lib/muster/muster-2.0.0-linux-$architecture/bin/older" full/bin/older
ln -s "../lib/muster/muster-2.1.0-linux-$architecture" full/bin/here
users() {
  [[ -d full/lib/cmake/muster && ! -h full/lib/cmake/muster && -z $(ls -A full/lib/cmake/muster) ]] || fail 'a folder was replaced'
  [[ $(cat full/include/muster.h) == mine ]] || fail "a file was replaced: $(ls -l full/include)"
  [[ $(readlink full/lib/libmuster.so.0) == /nowhere ]] || fail "a link was replaced: $(ls -l full/lib)"
  [[ $(cat full/share/man/man1/muster.1) == 2.0.0 && -h full/bin/older && -h full/bin/here ]] || fail 'a link to another installation was replaced'
}
sh "$install" "muster-2.1.0-linux-$architecture.tar.gz" --prefix full >out 2>said || fail "$(cat said)"
users
for stays in 'lib/cmake/muster is a directory' 'include/muster.h is a file' 'lib/libmuster.so.0 is a link that leads elsewhere' \
  'share/man/man1/muster.1 is a link that leads elsewhere'; do
  there=${stays%% *}
  grep -qxF "install: $work/full/$stays, and stays as it is: that of this release is $work/full/lib/muster/muster-2.1.0-linux-$architecture/$there" said ||
    fail "$(cat said)"
done
cp -r full saved
sh "$install" --remove --prefix full 2>said || fail "$(cat said)"
users
rm -r full
mv saved full
rm -r full/lib/cmake/muster full/include/muster.h full/lib/libmuster.so.0 full/share/man/man1/muster.1 full/bin/older full/bin/here

# A command of the user's: nothing is begun.
mkdir -p taken/bin
echo mine >taken/bin/muster
code=0
sh "$install" "muster-2.1.0-linux-$architecture.tar.gz" --prefix taken >out 2>said || code=$?
[[ $code -eq 1 && $(cat taken/bin/muster) == mine && -z $(ls -A taken/lib/muster) ]] || fail "$code: $(find taken)"
[[ $(cat said) == "install: error: $work/taken/bin/muster is a file, and no link of this installation: move it away, or choose another --prefix" ]] || fail "$(cat said)"

# What cannot be made is a line, and the commands are there.
mkdir -p blocked/lib/cmake
echo mine >blocked/share
ln -s nowhere blocked/include
sh "$install" "muster-2.1.0-linux-$architecture.tar.gz" --prefix blocked >out 2>said || fail "$(cat said)"
[[ $(blocked/bin/muster) == 'muster 2.1.0' && $(cat blocked/lib/cmake/muster/muster-config.cmake) == 2.1.0 ]] || fail "$(find blocked)"
grep -qxF "install: cannot make the directory $work/blocked/share/man/man1: Not a directory: no links there" said || fail "$(cat said)"
grep -qxF "install: cannot make the directory $work/blocked/include: File exists: no links there" said || fail "$(cat said)"
sh "$install" --remove --prefix blocked 2>said || fail "$(cat said)"
[[ $(find blocked ! -type d | LC_ALL=C sort) == blocked/include$'\n'blocked/share && $(cat blocked/share) == mine ]] || fail "left: $(find blocked)"
user=()
if [[ $(id -u) -eq 0 ]]; then
  user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 711 .
fi
mkdir -p readonly/lib/cmake
chmod 555 readonly/lib/cmake
[[ $(id -u) -ne 0 ]] || chown -R 65534:65534 readonly
"${user[@]}" sh -s -- "$work/muster-2.1.0-linux-$architecture.tar.gz" --prefix "$work/readonly" <"$install" >out 2>said || fail "$(cat said)"
[[ $(readonly/bin/muster) == 'muster 2.1.0' && -z $(ls -A readonly/lib/cmake) ]] || fail "$(find readonly)"
grep -qxF "install: cannot write the directory $work/readonly/lib/cmake: no links there" said || fail "$(cat said)"
chmod 555 readonly/bin
code=0
"${user[@]}" sh -s -- "$work/muster-2.0.0-linux-$architecture.tar.gz" --prefix "$work/readonly" <"$install" >out 2>said || code=$?
[[ $code -eq 1 && $(cat said) == "install: error: cannot write the directory $work/readonly/bin" ]] || fail "$code: $(cat said)"
code=0
"${user[@]}" sh -s -- --remove --prefix "$work/readonly" <"$install" 2>said || code=$?
[[ $code -eq 1 && $(readonly/bin/muster) == 'muster 2.1.0' ]] || fail "$code: $(cat said)"
grep -qxF "install: cannot remove the link $work/readonly/bin/muster: Permission denied" said || fail "$(cat said)"
grep -qxF "install: error: the releases in $work/readonly/lib/muster stay until no link leads to them" said || fail "$(cat said)"

# Folders of the user's may be links, as to a disk without a quota; the prefix as well.
mkdir -p disk/share disk/bin disk/lib disk/home/lib/muster/mine linked
ln -s "$work/disk/share" linked/share
ln -s ../disk/bin ../disk/lib linked
ln -s disk/home by-link
for prefix in linked by-link; do
  for version in 2.0.0 2.1.0; do
    sh "$install" "muster-$version-linux-$architecture.tar.gz" --prefix $prefix >out 2>said || fail "$(cat said)"
    [[ $(grep -c . said) -eq 3 ]] || fail "$(cat said)"
    for file in "${usual[@]}"; do [[ $(cat "$prefix/$file") == "$version" ]] || fail "$version: $prefix/$file is $(cat "$prefix/$file")"; done
    [[ $($prefix/bin/muster) == "muster $version" ]] || fail "$prefix: not $version"
  done
  sh "$install" --remove --prefix $prefix 2>said || fail "$(cat said)"
done
[[ $(find linked disk ! -type d | LC_ALL=C sort) == linked/bin$'\n'linked/lib$'\n'linked/share ]] || fail "left: $(find linked disk)"
[[ -d disk/home/lib/muster/mine ]] || fail 'a folder of the user was removed'

# Only what was the user's stays.
sh "$install" --remove --prefix full >out 2>said || fail "$(cat said)"
[[ $(cat said) == "install: the releases in $work/full/lib/muster are removed, and the links to them" ]] || fail "$(cat said)"
[[ $(cd full && find . ! -type d | LC_ALL=C sort) == './share/man/man1/mine.1'$'\n''./share/man/man1/other.1' ]] || fail "left: $(find full)"
[[ ! -e full/bin && ! -e full/lib ]] || fail "left: $(find full)"
rm -r refused
refuses "there is no release in $work/refused/lib/muster" --remove

#!/bin/bash
# deploy/install on machines that are not at rest or not as expected: jobs that start meanwhile, other installations, other
# architectures, missing tools, full disks, files that cannot be removed.
# usage: install_again_test.sh INSTALL [CASE]...
# shellcheck disable=SC2016 # the variables are the stand-ins'
# shellcheck source=tests/deploy/install_release.sh
. "${0%/*}/install_release.sh"

tarball() { echo "$work/muster-$1-linux-$architecture.tar.gz"; }
# installs ARGUMENT...: into ./home. What it prints is in ./printed.
installs() { sh "$install" "$@" --prefix "$work/home" >out 2>printed || fail "exit code $?: $(cat printed)"; }
# refuses MESSAGE COMMAND...: the last line of it.
refuses() {
  local code=0
  "${@:2}" >out 2>printed || code=$?
  [[ $code -eq 1 && $(tail -n 1 printed) == "install: error: $1" ]] || fail "exit code $code: $(cat printed)"
}
prints() { grep -qxF -- "install: $1" printed || fail "$(cat printed), not: $1"; }
# stands_in NAME TEXT: a program that comes first in PATH when $PATH begins with ./tools.
stands_in() {
  mkdir -p tools
  printf '#!/bin/sh\n%s\n' "$2" >"tools/$1"
  chmod +x "tools/$1"
}
# installs_slowly: in the background, as process $slow. It reads the tarball from $pipe.
installs_slowly() {
  mkdir -p slow
  [[ -p slow/muster-1.0.0-linux-$architecture.tar.gz ]] || mkfifo "slow/muster-1.0.0-linux-$architecture.tar.gz"
  sh "$install" "slow/muster-1.0.0-linux-$architecture.tar.gz" --prefix home >out 2>slowly &
  slow=$!
  exec {pipe}>"slow/muster-1.0.0-linux-$architecture.tar.gz"
}
# An ordinary user: root may write and remove anything.
user=()
as_user() {
  if [[ $(id -u) -eq 0 ]]; then
    user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 711 "$work" "$work/.."
    [[ $# -eq 0 ]] || chown -R 65534:65534 "$@"
  fi
}

# At each step that changes files a job starts, by the link: it has the earlier or the new release.
starts_meanwhile() {
  local tool
  release 1.0.0 "$architecture" lib/libmuster.so.0
  installs "$(tarball 1.0.0)"
  for tool in mv rm ln mkdir rmdir; do
    stands_in $tool "\"$work/home/bin/muster\" --version >>\"$work/started\" 2>&1 || echo failed >>\"$work/started\"
$(command -v $tool) \"\$@\"
code=\$?
\"$work/home/bin/muster\" --version >>\"$work/started\" 2>&1 || echo failed >>\"$work/started\"
exit \$code"
  done
  release 1.0.0 "$architecture" lib/libmuster.so.0 lib/other
  PATH=$work/tools:$PATH installs "$(tarball 1.0.0)"
  [[ $(sort -u started) == 'muster 1.0.0' ]] || fail "$(sort started | uniq -c)"
  [[ -e home/lib/other ]] || fail 'the new files are not linked'
}

# The same bytes: no file is replaced, and missing links are made. Files that a user has added are no difference.
same_again() {
  local before
  release 1.0.0 "$architecture" include/muster.h
  installs "$(tarball 1.0.0)"
  before=$(stat -c %i "home/lib/muster/muster-1.0.0-linux-$architecture/bin/muster")
  echo symbols >"home/lib/muster/muster-1.0.0-linux-$architecture/bin/muster.debug"
  rm home/include/muster.h
  installs "$(tarball 1.0.0)"
  [[ $(stat -Lc %i home/bin/muster) == "$before" && -e home/include/muster.h ]] || fail 'the files were replaced'
  [[ ! -e home/bin/muster.debug && $(ls -A home/lib/muster) == "muster-1.0.0-linux-$architecture" ]] || fail "$(ls -A home/lib/muster)"
}

# Other bytes of the same version: a running job keeps its files. Their second installation changes nothing.
other_bytes_again() {
  local name=muster-1.0.0-linux-$architecture
  release 1.0.0 "$architecture" lib/first
  installs "$(tarball 1.0.0)"
  release 1.0.0 "$architecture" lib/second
  for _ in 1 2; do
    installs "$(tarball 1.0.0)"
    prints "$name is in $work/home/lib/muster/$name.2, and its commands in $work/home/bin"
    [[ $(ls -A home/lib/muster) == "$name"$'\n'"$name.2" && -e home/lib/muster/$name/lib/first ]] || fail "$(ls -A home/lib/muster)"
    [[ -e home/lib/second && ! -h home/lib/first ]] || fail "$(ls -l home/lib)"
  done
  installs --remove 1.0.0
  [[ ! -e home/lib && ! -e home/bin ]] || fail "$(find home)"
}

removes_one_version() {
  release 1.0.0 "$architecture"
  release 1.1.0 "$architecture"
  installs "$(tarball 1.0.0)"
  installs "$(tarball 1.1.0)"
  installs --remove 1.0.0
  prints "the releases 1.0.0 in $work/home/lib/muster are removed, and the links to them"
  [[ $(ls -A home/lib/muster) == "muster-1.1.0-linux-$architecture" && $(home/bin/muster) == 'muster 1.1.0' ]] || fail "$(find home)"
  refuses "there is no release 1.0.0 in $work/home/lib/muster" sh "$install" --remove 1.0.0 --prefix home
  [[ $(ls -A home/lib/muster) == "muster-1.1.0-linux-$architecture" ]] || fail "$(ls -A home/lib/muster)"
  ! grep -q 'without links' printed || fail "$(cat printed)"
  installs "$(tarball 1.0.0)"
  installs --remove 1.0.0
  prints "$work/home/lib/muster/muster-1.1.0-linux-$architecture stays without links: to make them, install its tarball again"
  [[ ! -e home/bin && $(ls -A home/lib/muster) == "muster-1.1.0-linux-$architecture" ]] || fail "$(find home)"
  installs "$(tarball 1.1.0)"
  [[ $(home/bin/muster) == 'muster 1.1.0' ]] || fail "$(find home)"
  installs --remove 1.1.0
  [[ ! -e home/lib && ! -e home/bin ]] || fail "$(find home)"
}

# As `--remove "$version"` without a value: no release is removed.
refuses_empty_words() {
  local empty='an argument is empty: give the path or URL of a tarball, or a version'
  release 1.0.0 "$architecture"
  installs "$(tarball 1.0.0)"
  refuses "$empty" sh "$install" --remove '' --prefix home
  refuses "$empty" sh "$install" '' --prefix home
  refuses '--prefix needs a directory' sh "$install" --remove --prefix ''
  refuses '--prefix needs a directory' sh "$install" --remove --prefix=
  refuses '--prefix needs a directory' sh "$install" --remove --prefix
  refuses '--prefix needs a directory' env -u HOME sh "$install" --remove --prefix ''
  [[ $(home/bin/muster) == 'muster 1.0.0' ]] || fail "$(find home)"
}

# As a program that runs on another node keeps its file on NFS. The line names a command that removes no other release.
cannot_be_removed() {
  local old word name=muster-1.0.0-linux-$architecture
  release 1.0.0 "$architecture" lib/libmuster.so.0
  release 1.1.0 "$architecture"
  mkdir home
  as_user home
  for word in 1.0.0 ''; do
    "${user[@]}" sh -s -- "$(tarball 1.1.0)" --prefix "$work/home" <"$install" >out 2>printed || fail "$(cat printed)"
    "${user[@]}" sh -s -- "$(tarball 1.0.0)" --prefix "$work/home" <"$install" >out 2>printed || fail "$(cat printed)"
    chmod 555 "home/lib/muster/$name/lib"
    for _ in 1 2; do
      ! "${user[@]}" sh -s -- --remove $word --prefix "$work/home" <"$install" 2>printed || fail 'exit code 0'
      old=$(echo "$work"/home/lib/muster/.old-*-"$name")
      prints "cannot remove all of $old: Permission denied: a program of it may be running. After its end, run again: install --remove${word:+ $word} --prefix $work/home"
      [[ ! -h home/bin/muster && ! -e home/lib/muster/$name ]] || fail "$(find home)"
    done
    [[ ! $word || -e home/lib/muster/muster-1.1.0-linux-$architecture ]] || fail "$(find home)"
    chmod 755 "$old/lib"
    "${user[@]}" sh -s -- --remove $word --prefix "$work/home" <"$install" 2>printed || fail "exit code $?: $(cat printed)"
    [[ $word || ! -e home/lib ]] || fail "$(find home)"
    [[ ! -e $old ]] || fail "$(find home)"
  done
  refuses "there is no release in $work/home/lib/muster" sh "$install" --remove 1.0.0 --prefix home
}

# A full disk or quota is a reason to remove a release, and that needs no space.
removes_without_space() {
  local why tool
  release 1.0.0 "$architecture"
  for why in 'No space left on device' 'Disk quota exceeded'; do
    installs "$(tarball 1.0.0)"
    # Whatever makes a file fails.
    for tool in ln mkdir mktemp cp; do stands_in $tool "echo \"$tool: cannot create '\$*': $why\" >&2; exit 1"; done
    PATH=$work/tools:$PATH installs --remove
    prints "cannot make the link $work/home/lib/muster/.lock: $why: going on without it"
    prints "the releases in $work/home/lib/muster are removed, and the links to them"
    [[ ! -e home/lib && ! -e home/bin ]] || fail "$(find home)"
  done
}

# An installation waits for another one, and names it.
waits_for_another() {
  local line from other
  release 1.0.0 "$architecture"
  mkdir -p home/lib/muster
  for other in "gpu99:$(readlink /proc/self/ns/pid):99999999" "$(uname -n):pid:[1]:99999999" "$(uname -n):$(readlink /proc/self/ns/pid):$$"; do
    ln -s "$other" home/lib/muster/.lock
    exec {from}< <(sh "$install" "$(tarball 1.0.0)" --prefix home 2>&1)
    while read -r line <&"$from" && [[ $line != *'waiting for'* ]]; do :; done
    [[ $line == "install: another install is at work in $work/home/lib/muster (process ${other##*:} on ${other%%:*}): waiting for at most 60 s" ]] ||
      fail "$line"
    [[ ! -e home/bin/muster ]] || fail 'it did not wait'
    rm home/lib/muster/.lock
    cat <&"$from" >/dev/null
    [[ $(home/bin/muster) == 'muster 1.0.0' ]] || fail 'it is not installed'
    rm home/bin/muster
  done
  ln -s "$other" home/lib/muster/.lock
  sed 's/-ge 60 /-ge 0 /' "$install" >impatient
  refuses "$work/home/lib/muster/.lock is of process $$ on $(uname -n): remove it if that install is not running" \
    sh impatient "$(tarball 1.0.0)" --prefix home
  [[ -h home/lib/muster/.lock ]] || fail 'the lock of another one was removed'
}

# What a killed installation has left is removed by the next one, and by --remove. Several find it at the same time.
was_killed() {
  local pid next pids slow pipe
  release 1.0.0 "$architecture"
  for next in "$(tarball 1.0.0)" --remove; do
    installs_slowly
    kill -KILL "$slow"
    wait "$slow" 2>/dev/null || true
    exec {pipe}>&-
    pids=()
    for _ in 1 2 3; do
      timeout 30 sh "$install" "$next" --prefix home >out 2>>printed &
      pids+=($!)
      [[ $next != --remove ]] || break
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "exit code $?: $(cat printed)"; done
    ! grep 'cannot' printed || fail "$(cat printed)"
    if [[ $next == --remove ]]; then
      [[ ! -e home/lib ]] || fail "$(find home)"
    else
      [[ $(ls -A home/lib/muster) == "muster-1.0.0-linux-$architecture" ]] || fail "$(ls -A home/lib/muster)"
    fi
  done
}

# A signal while the lock is made.
stopped_in_lock() {
  local code=0
  release 1.0.0 "$architecture"
  stands_in ln "$(command -v ln) \"\$@\" && kill -TERM \"\$(readlink '$work/home/lib/muster/.lock' | sed 's/.*://')\""
  PATH=$work/tools:$PATH sh "$install" "$(tarball 1.0.0)" --prefix home >out 2>printed || code=$?
  [[ $code -eq 143 && -z $(ls -A home/lib/muster) ]] || fail "$code: $(cat printed): $(ls -A home/lib/muster)"
}

# --remove while a release is unpacked: it waits, and then removes that release.
removes_meanwhile() {
  local line from slow pipe
  release 1.0.0 "$architecture"
  installs_slowly
  exec {from}< <(sh "$install" --remove --prefix home 2>&1 {pipe}>&-)
  while read -r line <&"$from" && [[ $line != *'waiting for'* ]]; do :; done
  cat "$(tarball 1.0.0)" >&"$pipe" || true
  exec {pipe}>&-
  wait "$slow" || fail "exit code $?: $(cat slowly)"
  grep -q "muster-1.0.0-linux-$architecture is in " slowly || fail "$(cat slowly)"
  read -r line <&"$from"
  [[ $line == "install: the releases in $work/home/lib/muster are removed, and the links to them" && ! -e home/lib ]] || fail "$line: $(find home)"
}

# Three at the same time.
all_at_once() {
  local round i pids
  release 1.0.0 "$architecture" lib/libmuster.so.0 include/muster.h
  for round in 1 2; do
    pids=()
    for i in 1 2 3; do
      sh "$install" "$(tarball 1.0.0)" --prefix home >"out$i" 2>"printed$i" &
      pids+=($!)
    done
    for i in 1 2 3; do wait "${pids[i - 1]}" || fail "round $round: $(cat "printed$i")"; done
    [[ $(ls -A home/lib/muster) == "muster-1.0.0-linux-$architecture" ]] || fail "$(ls -A home/lib/muster)"
    [[ ! -e home/lib/muster/muster-1.0.0-linux-$architecture/muster-1.0.0-linux-$architecture ]] || fail 'a release within itself'
  done
}

# A download that breaks off at the end of a line.
breaks_off() {
  local lines line
  release 1.0.0 "$architecture"
  installs "$(tarball 1.0.0)"
  release 1.1.0 "$architecture"
  lines=$(wc -l <"$install")
  for ((line = 1; line < lines; line += 4)); do
    head -n "$line" "$install" | sh -s -- "$(tarball 1.1.0)" --prefix "$work/home" >out 2>&1 || true
    [[ $(home/bin/muster 2>&1) == 'muster 1.0.0' ]] || fail "executed after $line of $lines lines: $(find home)"
  done
  sh -s -- --help <"$install" >out
  grep -q 'sh install TARBALL|URL' out || fail 'no help by a pipe'
}

# `pip install --user` has the same bin, and a folder share/muster.
with_pip() {
  local packages=home/lib/python3.11/site-packages/muster_hpc-1.0.0.dist-info name=muster-1.0.0-linux-$architecture
  release 1.0.0 "$architecture" share/muster/configs/eval.yaml
  installs "$(tarball 1.0.0)"
  ln -s "../lib/muster/$name/share/muster" home/share/muster 2>/dev/null ||
    { mkdir -p home/share && ln -s "../lib/muster/$name/share/muster" home/share/muster; }
  installs "$(tarball 1.0.0)"
  [[ ! -e home/share/muster ]] || fail 'pip would write through share/muster'
  mkdir -p "$packages"
  echo '../../../bin/muster,sha256=abc,3' >"$packages/RECORD"
  installs "$(tarball 1.0.0)" # pip is not the last one
  rm home/bin/muster
  echo '#!/bin/sh' >home/bin/muster
  refuses "$work/home/bin/muster is of the Python package: pip uninstall muster-hpc, or choose another --prefix" \
    sh "$install" "$(tarball 1.0.0)" --prefix home
}

# A home that machines of two architectures share.
other_architecture() {
  release 1.0.0 "$architecture"
  release 1.0.0 vax
  installs "$(tarball 1.0.0)"
  stands_in uname '[ "$*" = -m ] && echo vax'
  refuses "$work/home/bin/muster is for $architecture, and this release for vax: choose a directory for each architecture: --prefix $work/home/vax" \
    env PATH="$work/tools:$PATH" sh "$install" muster-1.0.0-linux-vax.tar.gz --prefix home
  [[ $(readlink home/bin/muster) == *"linux-$architecture/bin/muster" ]] || fail 'the link is changed'
  refuses "muster-1.0.0-linux-vax.tar.gz is for vax, and this machine is $architecture: run install on a machine of that architecture, with a --prefix of its own" \
    sh "$install" muster-1.0.0-linux-vax.tar.gz --prefix home
}

# A shell finds another muster, or none, or this one by another name of the directory.
another_in_path() {
  release 1.0.0 "$architecture"
  stands_in muster 'echo another'
  PATH=$work/tools:$work/home/bin:$PATH installs "$(tarball 1.0.0)"
  prints "another muster comes first in PATH: $work/tools/muster. Put this one before it: export PATH=\"$work/home/bin:\$PATH\""
  ln -s home by_link
  PATH=$work/by_link/bin:$work/tools:$PATH installs "$(tarball 1.0.0)"
  ! grep -q PATH printed || fail "$(cat printed)"
  SHELL=/bin/tcsh installs "$(tarball 1.0.0)"
  prints "add it to PATH: setenv PATH \"$work/home/bin:\$PATH\""
  SHELL=/usr/bin/fish sh "$install" "$(tarball 1.0.0)" --prefix="$work/home//" >out 2>printed
  prints "add it to PATH: fish_add_path \"$work/home/bin\""
}

# The program is there, and this machine cannot execute it.
cannot_execute() {
  local name=muster-1.0.0-linux-$architecture
  mkdir -p "$name/bin"
  printf '#!/bin/sh\necho "no such instruction" >&2\nexit 3\n' >"$name/bin/muster"
  chmod +x "$name/bin/muster"
  tar -czf "$name.tar.gz" "$name"
  refuses "$name does not run on this machine: no such instruction" sh "$install" "$(tarball 1.0.0)" --prefix home
  # For a file system without exec: the kernel refuses both.
  chmod -x "$name/bin/muster"
  tar -czf "$name.tar.gz" "$name"
  refuses "no program in $work/home can be executed: choose a --prefix whose file system is mounted without noexec" \
    sh "$install" "$(tarball 1.0.0)" --prefix home
  sed 's|loader=/lib|loader=/nonexistent|' "$install" >without_glibc
  refuses "this system has no glibc (/nonexistent$([[ $architecture != x86_64 ]] || echo 64)/ld-linux-${architecture//_/-}.so.$([[ $architecture == x86_64 ]] && echo 2 || echo 1) is missing; Alpine has musl instead): use a system or an image with glibc" \
    sh without_glibc "$(tarball 1.0.0)" --prefix home
  rm "$name/bin/muster"
  tar -czf "$name.tar.gz" "$name"
  refuses "$(tarball 1.0.0) has no $name/bin/muster" sh "$install" "$(tarball 1.0.0)" --prefix home
}

# Releases are the same only if their files were compared. A first installation needs no tool for that.
cannot_compare() {
  local missing tool name=muster-1.0.0-linux-$architecture
  for missing in find sha256sum cmp; do
    rm -rf minimal home
    mkdir minimal
    for tool in sh tar gzip id uname mkdir mktemp rm rmdir grep sed head readlink mv ln cat cp dirname find cmp sha256sum; do
      [[ $tool == "$missing" ]] || ln -s "$(command -v $tool)" "minimal/$tool"
    done
    release 1.0.0 "$architecture" lib/first
    PATH=$work/minimal installs "$(tarball 1.0.0)"
    release 1.0.0 "$architecture" lib/second
    if [[ $missing == cmp ]]; then
      for _ in 1 2; do PATH=$work/minimal installs "$(tarball 1.0.0)"; done
      [[ $(ls -A home/lib/muster) == "$name"$'\n'"$name.2" && -e home/lib/second ]] || fail "$(find home)"
    else
      refuses "$missing is missing on this machine: without it, the files of $work/home/lib/muster/$name cannot be compared" \
        env PATH="$work/minimal" sh "$install" "$(tarball 1.0.0)" --prefix home
      [[ $(ls -A home/lib/muster) == "$name" && -e home/lib/first ]] || fail "$(find home)"
    fi
  done
}

# The first reason, not each file; and what is missing on this machine, not a wrong tarball.
names_the_reason() {
  local free minimal tool
  release 1.0.0 "$architecture"
  stands_in tar 'for i in 1 2 3; do echo "tar: file$i: Cannot write: No space left on device" >&2; done; exit 2'
  PATH=$work/tools:$PATH sh "$install" "$(tarball 1.0.0)" --prefix home >out 2>printed && fail 'exit code 0'
  free=$(sed -n "s|^install: error: cannot unpack $(tarball 1.0.0): tar: file1: Cannot write: No space left on device: it takes 20 MB, and \([0-9]*\) MB are free\$|\1|p" printed)
  [[ $free && $(wc -l <printed) -eq 2 ]] || fail "$(cat printed)"
  rm -r tools
  minimal=$work/minimal
  mkdir "$minimal"
  for tool in sh tar gzip id uname mkdir mktemp rm rmdir grep sed head readlink mv ln cat cp dirname; do
    ln -s "$(command -v $tool)" "$minimal/$tool"
  done
  refuses "cannot get https://host.invalid/muster-1.0.0-linux-$architecture.tar.gz: neither curl nor wget is on this machine: copy the tarball and SHA256SUMS here, and give its path" \
    env PATH="$minimal" sh "$install" "https://host.invalid/muster-1.0.0-linux-$architecture.tar.gz" --prefix home
  sha256sum muster-*.tar.gz >SHA256SUMS
  refuses 'sha256sum is missing on this machine: without it, put the tarball where no SHA256SUMS is' \
    env PATH="$minimal" sh "$install" "$(tarball 1.0.0)" --prefix home
  rm SHA256SUMS
  PATH=$minimal installs "$(tarball 1.0.0)"
}

# A release is installed without a check only if there is no SHA256SUMS.
sums_cannot_be_read() {
  local tools tool status base sums hint='run install again, or copy the tarball and SHA256SUMS here, and give its path'
  release 1.0.0 "$architecture"
  # http://127.0.0.1:PORT/STATUS/FILE: that status for SHA256SUMS.
  python3 - "$(tarball 1.0.0)" >port <<'END' &
import http.server, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sums = self.path.endswith("SHA256SUMS")
        self.send_response(int(self.path.split("/")[1]) if sums else 200)
        self.end_headers()
        self.wfile.write(b"" if sums else pathlib.Path(sys.argv[1]).read_bytes())
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
END
  # shellcheck disable=SC2064 # this process
  trap "kill $!" EXIT
  until [[ -s port ]]; do sleep 0.1; done
  mkdir without_curl
  for tool in sh tar gzip id uname mkdir mktemp rm rmdir grep sed head tail readlink mv ln cat cp dirname find sha256sum wget; do
    ! command -v $tool >/dev/null || ln -s "$(command -v $tool)" "without_curl/$tool"
  done
  for tool in curl wget; do
    command -v $tool >/dev/null || continue
    tools=$PATH
    [[ $tool == curl ]] || tools=$work/without_curl
    for status in 404 403 500 503; do
      rm -rf home
      base=http://127.0.0.1:$(cat port)/$status
      if [[ $status == 40* ]]; then
        PATH=$tools installs "$base/muster-1.0.0-linux-$architecture.tar.gz"
        prints "no SHA256SUMS beside $base/muster-1.0.0-linux-$architecture.tar.gz: it is not checked"
      else
        ! PATH=$tools sh "$install" "$base/muster-1.0.0-linux-$architecture.tar.gz" --prefix home >out 2>printed || fail 'exit code 0'
        [[ $(cat printed) =~ ^"install: error: cannot get $base/SHA256SUMS: ".*(error: |ERROR )$status.*": $hint"$ ]] || fail "$(cat printed)"
        [[ ! -e home/bin/muster && -z $(ls -A home/lib/muster) ]] || fail "$(find home)"
      fi
    done
  done
  # A file that cannot be read; for a link to nowhere also root cannot.
  ln -s nowhere SHA256SUMS
  sums=$work/SHA256SUMS
  refuses "cannot get $sums: cp: cannot stat '$sums': No such file or directory: $hint" sh "$install" "$(tarball 1.0.0)" --prefix home
}

# Words of the command line as other programs take them.
takes_other_words() {
  release 1.0.0 "$architecture"
  sh "$install" "$(tarball 1.0.0)" --prefix=home >out 2>printed || fail "$(cat printed)"
  [[ $(home/bin/muster) == 'muster 1.0.0' ]] || fail 'not in --prefix=home'
  # A server of files gives the same answer to any query.
  stands_in curl 'for word; do case $word in *://*) url=$word ;; esac; done
case $url in *"?token=1&x=/") cp "${url#file://}" "$4" 2>/dev/null || cp "$(echo "${url#file://}" | sed "s/?.*//")" "$4" ;; *) exit 22 ;; esac'
  sha256sum muster-*.tar.gz >SHA256SUMS
  PATH=$work/tools:$PATH sh "$install" "file://$(tarball 1.0.0)?token=1&x=/" --prefix url >out 2>printed || fail "$(cat printed)"
  [[ $(url/bin/muster) == 'muster 1.0.0' ]] || fail 'not from a URL with a query'
  ! grep -q 'no SHA256SUMS\|token' printed || fail "$(cat printed)"
  touch "muster-1.0.0-linux-$architecture-debug.tar.gz"
  refuses "muster-1.0.0-linux-$architecture-debug.tar.gz has symbols for debuggers alone: unpack it over its release: tar -xzf muster-1.0.0-linux-$architecture-debug.tar.gz -C $work/home/lib/muster" \
    sh "$install" "muster-1.0.0-linux-$architecture-debug.tar.gz" --prefix home
}

# What root installs for all users, they can execute.
for_all_users() {
  [[ $(id -u) -eq 0 ]] || return 0
  release 1.0.0 "$architecture"
  as_user
  (umask 077 && installs "$(tarball 1.0.0)")
  [[ $("${user[@]}" "$work/home/bin/muster") == 'muster 1.0.0' ]] || fail 'a user cannot execute it'
}

cases=(starts_meanwhile same_again other_bytes_again removes_one_version refuses_empty_words cannot_be_removed removes_without_space
  waits_for_another was_killed stopped_in_lock removes_meanwhile all_at_once breaks_off with_pip other_architecture another_in_path
  cannot_execute cannot_compare names_the_reason sums_cannot_be_read takes_other_words for_all_users)
[[ $# -lt 2 ]] || cases=("${@:2}")
for case in "${cases[@]}"; do
  mkdir "$work/$case"
  (
    work=$work/$case
    cd "$work"
    "$case"
  )
done

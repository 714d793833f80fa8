# Sourced by `run`: the packages of a release on a cluster without compiler. A user without root installs the wheel and the
# tarball; an administrator installs the Debian package.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the user's shell's, not ours
# shellcheck disable=SC2154 # `run` sets top, files, home and packages; layouts.sh sets accuracy

# as_user NODE COMMAND LINE: in a login shell. The nodes share the home, as on a cluster; nothing of this environment is there.
as_user() {
  on --user 4711 "$1" sh -c 'cd "$0" && exec env -i HOME="$0" USER=ada LOGNAME=ada TERM=dumb SLURM_CONF="$SLURM_CONF" \
    PATH=/usr/local/bin:/usr/bin:/bin bash -l -c "set -eu; $1"' "$home" "$2"
}

# The user has the files, and the example's data.
has_packages() {
  mkdir -p "$home/downloads" "$home/digits/data"
  cp "$packages"/{muster[-_]*.{tar.gz,whl},SHA256SUMS,install} "$home/downloads"
  cp "$top/deploy/examples/digits.py" "$home/digits"
  cp "$top/deploy/examples/data/digits.csv" "$home/digits/data"
  cp "$files/root/bazel-bin/deploy/examples/digits" "$home/digits"
  chown -R 4711:4711 "$home"
}

has_no_compiler() {
  expect_output 'compilers' '' as_user ctl 'type -P cc c++ gcc g++ clang make || true'
}

# accuracy_of NODE COMMAND LINE: one group prints it once; ranks that do not meet print it once each.
accuracy_of() {
  local printed
  printed=$(as_user "$@")
  expect "$2" "$(grep '^accuracy' <<<"$printed")" "$accuracy"
}

# classifies WITH PROGRAM: by `muster launch` on one node, and by srun on two.
classifies() {
  accuracy_of gpu01 "$1; muster launch -n 4 -- $2"
  accuracy_of ctl "$1; srun -N2 -n8 muster run -- $2"
}

wheel_is_installed() {
  as_user ctl 'python3 -m venv venv; venv/bin/pip install --no-index downloads/muster_hpc-*.whl'
  as_user gpu02 'venv/bin/muster --version' >"$files/version"
  expect_like '--version' "$(<"$files/version")" 'muster *'
}
wheel_classifies() { classifies '. venv/bin/activate' 'python digits/digits.py'; }
# `import muster` without `muster run`.
wheel_without_supervisor() { accuracy_of ctl '. venv/bin/activate; srun -N2 -n8 python digits/digits.py'; }

# As the first page has it: on the login node, without a job.
tarball_is_installed() {
  as_user ctl 'sh downloads/install downloads/muster-*-linux-x86_64.tar.gz --prefix ~/contact' >"$files/contact" 2>&1
  expect_like 'install and doctor' "$(<"$files/contact")" '*its commands in */contact/bin*glibc 2.*/dev/shm*slurm*'
  as_user ctl 'export PATH=~/contact/bin:$PATH; man -w muster-run muster.yaml
    PKG_CONFIG_PATH=~/contact/lib/pkgconfig pkg-config --exists muster; . ~/contact/share/bash-completion/completions/muster
    COMP_WORDS=(muster laun) COMP_CWORD=1; _muster; echo "${COMPREPLY[@]}"
    ls "$(dirname "$(readlink -f ~/contact/bin/muster)")/../share/muster"' >"$files/found"
  expect 'without a module' "$(sed 's|.*/\(share/man\)|\1|; s/ *$//' "$files/found")" 'share/man/man1/muster-run.1
share/man/man5/muster.yaml.5
launch
configs
sbatch
spank'
  classifies 'export PATH=~/contact/bin:$PATH' 'digits/digits --data digits/data/digits.csv'
}
tarball_is_unpacked() {
  as_user ctl 'tar -xzf downloads/muster-*-linux-x86_64.tar.gz -C ~'
}
readonly loads='module use ~/muster-*/share/modulefiles; module load muster'
# Nothing but what the user had before.
tarball_is_removed() {
  as_user ctl 'sh downloads/install --remove --prefix ~/contact; test -z "$(ls -A contact)"'
}
tarball_classifies() { classifies "$loads" 'digits/digits --data digits/data/digits.csv'; }

# With the system's own manual pages.
module_is_loaded() {
  local version unpacked
  version=$(sed -n 's/.*kVersion = "\(.*\)";/\1/p' "$top/comm/base/version.h")
  unpacked=$home/muster-$version-linux-x86_64
  as_user ctl "$loads"'; command -v muster; muster --version | head -n 1; pkg-config --modversion muster
    man -w muster-run; man -w ls' >"$files/found"
  expect 'after the load' "$(<"$files/found")" "$unpacked/bin/muster
muster $version
$version
$unpacked/share/man/man1/muster-run.1
/usr/share/man/man1/ls.1.gz"
}
# The names and values of the variables that the module file changes; MANPATH by what man finds: an empty one and ":" are the same.
readonly changed='env | grep -E "^(PATH|LD_LIBRARY_PATH|CPATH|LIBRARY_PATH|PKG_CONFIG_PATH|CMAKE_PREFIX_PATH)=" | sort; man -w ls'
module_is_unloaded() {
  local before after
  before=$(as_user ctl "module use ~/muster-*/share/modulefiles; $changed")
  after=$(as_user ctl "$loads; module unload muster; ! command -v muster; ! pkg-config --modversion muster 2>/dev/null
    ! man -w muster-run 2>/dev/null; $changed")
  expect 'the environment' "$after" "$before"
}

# All files of a node but for what dpkg, the loader and man keep for themselves.
files_of_node() {
  on "$1" find / -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /etc/ld.so.cache \) -prune -o -print |
    LC_ALL=C sort
}

deb_is_installed() {
  local node
  files_of_node gpu01 >"$files/before_deb"
  for node in "${nodes[@]}"; do on "$node" dpkg -i "$packages"/muster_*_amd64.deb; done
  as_user gpu01 'command -v muster; pkg-config --cflags --libs muster; man -w muster-run
    . /usr/share/bash-completion/completions/muster; COMP_WORDS=(muster laun) COMP_CWORD=1; _muster; echo "${COMPREPLY[@]}"' >"$files/found"
  expect 'after the installation' "$(sed 's/ *$//' "$files/found")" "/usr/bin/muster
-lmuster
/usr/share/man/man1/muster-run.1.gz
launch"
  expect_like 'the library' "$(on gpu01 ldconfig -p)" '*libmuster.so.0 (libc6,x86-64) => */lib/libmuster.so.0*'
  expect_output 'changed files' '' on gpu01 dpkg --verify muster
}
deb_classifies() { classifies : 'digits/digits --data digits/data/digits.csv'; }
deb_is_removed() {
  local node
  for node in "${nodes[@]}"; do on "$node" dpkg -r muster; done
  files_of_node gpu01 >"$files/after_deb"
  diff "$files/before_deb" "$files/after_deb"
  on gpu01 sh -c '! dpkg -s muster 2>/dev/null && ! ldconfig -p | grep libmuster'
}

check_first_contact() {
  check "$1: a user with the packages" has_packages
  check "$1: no compiler" has_no_compiler
  check "$1: the wheel is installed by pip" wheel_is_installed
  check "$1: the wheel: launch -n 4, srun -N2 -n8" wheel_classifies
  check "$1: the wheel: srun -N2 -n8 python" wheel_without_supervisor
  check "$1: the first contact: install, doctor, launch -n 4, srun -N2 -n8" tarball_is_installed
  check "$1: install --remove" tarball_is_removed
  check "$1: the tarball is unpacked" tarball_is_unpacked
  check "$1: the tarball: the module is loaded" module_is_loaded
  check "$1: the tarball: launch -n 4, srun -N2 -n8" tarball_classifies
  check "$1: the tarball: the module is unloaded" module_is_unloaded
  check "$1: the Debian package is installed" deb_is_installed
  check "$1: the Debian package: launch -n 4, srun -N2 -n8" deb_classifies
  check "$1: the Debian package is removed" deb_is_removed
}

check_on_plain_cluster() {
  local before=$failed
  check "$1: up" "$top/tests/cluster/up" 3 --root "$2"
  if [[ $failed -gt $before ]]; then return; fi
  rm -rf "$home"
  check_first_contact "$1"
  check "$1: nothing remains" nothing_remains
  "$top/tests/cluster/down"
}

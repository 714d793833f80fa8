# Sourced by the scripts beside it: what a cluster is called and where its state lives.
# shellcheck shell=bash

# Short, because the socket paths that Slurm and PMIx put under it end at 108 bytes, and not below
# /run, /dev/shm or /sys, which every node covers with its own.
readonly clusters=/var/lib/muster-cluster

die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-1}"
}

# The comment at the top of a script is its help.
usage() {
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
  exit "${1:-0}"
}

need_root() {
  [[ $EUID -eq 0 ]] || die 'needs root (network namespaces)' 77
  local mounts
  mapfile -t mounts </proc/self/mountinfo
  if [[ ${mounts[*]} == *' muster-cluster:'* ]]; then
    die 'this shell is inside a node; run it on the machine itself' 64
  fi
}

# Sets `name`, which becomes part of paths and mount options, `state` and `mark`. Every mount
# namespace of a cluster holds a tmpfs called $mark. That is how its processes are found again:
# unlike a pid file it cannot be stale, and it is there before anything else starts.
use_cluster() {
  name=$1
  [[ $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$ ]] ||
    die "cluster name '$name': up to 32 letters, digits, dots, dashes" 64
  state=$clusters/$name mark=muster-cluster:$name
}

# One `down` at a time, those that outlive a killed caller included. The lock is on what exists on
# every machine, as a lock file would be left behind. What is started while it is held shares it.
lock() {
  [[ -z ${TEST_CLUSTER_LOCKED-} ]] || return 0
  exec {lock}</var/lib
  flock --timeout 60 "$lock" || die 'another down has been running for a minute'
  export TEST_CLUSTER_LOCKED=yes
}

unlock() {
  exec {lock}<&-
  unset TEST_CLUSTER_LOCKED
}

# Sets `pid` to the process that holds a node's namespaces. Refuses a pid that has since become
# somebody else's: entering that would run the command on the machine itself. Starts no process.
find_holder() {
  local node=$1 mounts
  read -r pid 2>/dev/null <"$state/nodes/$node/holder" &&
    mapfile -t mounts 2>/dev/null </proc/"$pid"/mountinfo &&
    [[ ${mounts[*]} == *" $mark "* ]] && return
  [[ -d $state ]] || die "no cluster '$name' is up (tests/cluster/up)" 125
  [[ -d $state/nodes/$node ]] || die "cluster '$name' has no node '$node': $(nodes)" 125
  die "node $node of cluster '$name' is not running" 125
}

# Switches a node on. It outlives the terminal it was started from and holds none of its pipes open.
boot() {
  mkdir -p "$state/nodes/$1"
  setsid unshare --net --uts --mount --propagation slave \
    "$(dirname "${BASH_SOURCE[0]}")/boot" "$name" "$1" "$2" \
    </dev/null >>"$state/nodes/$1/log" 2>&1 &
  disown
}

address() {
  case $1 in
    ctl) echo 198.18.0.1 ;;
    gpu*) echo "198.18.1.$((10#${1#gpu}))" ;;
  esac
}

nodes() { (cd "$state/nodes" && echo ctl gpu*); }

# Sourced by `run`: networks as sites have them. Slurm itself finds its nodes by address, so that names and networks
# can be taken from muster alone.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2034,SC2119,SC2120,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir and
# member; by_file and no_notice_left are file_store.sh's

gpus=(gpu01 gpu02 gpu03 gpu04)

# hosts_are LINE...: what every node knows about names, until names_again. @ is the node itself.
hosts_are() {
  local node
  for node in "${gpus[@]}"; do
    { printf '127.0.0.1 localhost\n::1 localhost\n' && printf '%s\n' "${@//@/$node}"; } | on "$node" tee /etc/hosts >/dev/null
  done
}
names_again() {
  local node
  for node in "${gpus[@]}"; do
    on "$node" tee /etc/hosts <"/var/lib/muster-cluster/$TEST_CLUSTER/hosts" >/dev/null
  done
}

# every_node COMMAND...: on each, with N its number.
every_node() {
  local node
  for node in "${gpus[@]}"; do N=$((10#${node#gpu})) on "$node" sh -c "$1"; done
}

# forms [ENVIRONMENT...]: eight ranks on four nodes; srun's and muster's messages go to $dir/err.
forms() {
  fresh
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' env "$@" muster run -- "${member[@]}" 2>"$dir/err" || fail "$(cat "$dir/err")"
  evaluated 8
}

# ---- names

names_of_debian() {
  trap names_again EXIT
  hosts_are '127.0.1.1 @' '198.18.1.1 gpu01' '198.18.1.2 gpu02' '198.18.1.3 gpu03' '198.18.1.4 gpu04'
  forms
}

# Rank 0 listens for the other nodes as well, on the node whose own name is 127.0.1.1.
names_of_debian_and_an_endpoint() {
  local rank code=0 pids=()
  trap names_again EXIT
  hosts_are '127.0.1.1 @' '198.18.1.1 gpu01' '198.18.1.2 gpu02'
  for rank in 0 1; do
    on "gpu0$((rank + 1))" muster run --rank $rank --world-size 2 --local-rank 0 --endpoint gpu01:61889 \
      --set timeouts.rendezvous=20s -- true &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || code=$?; done
  return "$code"
}

# stores_at ADDRESS: where the store of gpu01 listens, by that name; its messages go to $dir/err.
stores_at() {
  local code=0
  fresh
  "$top/tests/cluster/on" gpu01 muster store --listen gpu01:29556 >"$dir/out" 2>"$dir/err" &
  # It ends in any case; the output below is the check.
  until_true 20 test -s "$dir/out" || true
  kill $! || true
  wait $! || code=$?
  expect output "$(cat "$dir/out")" "listening on $1:29556"
  expect 'exit status' "$code" 0
}

# The store of a node whose name is 127.0.1.1 there warns; if the name has a second address, that one is taken.
names_of_debian_and_a_store() {
  trap names_again EXIT
  hosts_are '127.0.1.1 @'
  stores_at 127.0.1.1
  expect_like warning "$(cat "$dir/err")" '*warning: --listen "gpu01": gpu01 is 127.0.1.1 on this node, which other nodes cannot reach; *'
  hosts_are '127.0.1.1 @' '198.18.1.1 gpu01'
  stores_at 198.18.1.1
}

names_with_a_domain() {
  trap names_again EXIT
  hosts_are '198.18.1.1 gpu01.cluster.example gpu01' '198.18.1.2 gpu02.cluster.example gpu02' \
    '198.18.1.3 gpu03.cluster.example gpu03' '198.18.1.4 gpu04.cluster.example gpu04'
  forms
  fresh
  step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 "$here/by_hand" gpu01.cluster.example muster run -- "${member[@]}"
  evaluated 6
  # The machines call themselves by the long name, the launcher by the short one.
  fresh
  step -N3 -w 'gpu[01-03]' --ntasks-per-node=2 unshare --uts sh -c 'hostname "$SLURMD_NODENAME.cluster.example"
    exec "$@"' sh "$here/by_hand" gpu01 muster run -- "${member[@]}"
  whole 6
}

names_unknown() {
  trap names_again EXIT
  hosts_are '198.18.1.99 nobody'
  forms
  expect_like message "$(cat "$dir/err")" '*the name gpu01 does not resolve to another machine; its address in Slurm is 198.18.1.1*'
}

names_that_lead_home() {
  trap names_again EXIT
  hosts_are '127.0.1.1 gpu01 gpu02 gpu03 gpu04'
  forms
}

# The same without anybody to ask: it fails, with what is wrong.
names_unknown_and_no_helper() {
  trap names_again EXIT
  hosts_are '198.18.1.99 nobody'
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=4s expect_code 75 step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' \
    muster run --set rendezvous.slurm_helper=none -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" \
    '*the root, rank 0 on gpu01, did not answer within 4s; cannot resolve host "gpu01": *'
}

# A root whose own name says nothing tells all its addresses but those that every node has.
names_unknown_and_a_file() {
  trap names_again EXIT
  hosts_are '198.18.1.99 nobody'
  by_file forms MUSTER_RENDEZVOUS_SLURM_HELPER=none
  no_notice_left
}

# ---- addresses

six_ranks() {
  every_node 'ip addr add fd00:18::$N/64 dev eth0 nodad'
}
no_six() { every_node 'ip addr del fd00:18::$N/64 dev eth0' || true; }
six_again() {
  no_six
  names_again
}

# Who talks to the root, while all wait at a gate.
through() {
  fresh
  shut_gate
  step -N4 --ntasks-per-node=2 -w 'gpu[01-04]' muster run -- "$here/at_gate" "$dir" "${member[@]}" &
  until_true 20 has_files "$dir/waiting" 8
  on gpu02 ss -Htn state established | awk '$3 ~ /:6[1-4][0-9][0-9][0-9]$/ || $4 ~ /:6[1-4][0-9][0-9][0-9]$/ { print $3, $4 }' \
    >"$dir/connections"
  open_gate
  wait $!
  evaluated 8
}

only_six() {
  trap six_again EXIT
  six_ranks
  hosts_are 'fd00:18::1 gpu01' 'fd00:18::2 gpu02' 'fd00:18::3 gpu03' 'fd00:18::4 gpu04'
  MASTER_NETWORK=fd00:18:: through
  expect_like 'connections to the root' "$(cat "$dir/connections")" '*\[fd00:18::2\]:* \[fd00:18::1\]:6*'
}

# Two nodes that have no other address.
two_of_six() {
  local node
  trap four_again EXIT
  six_ranks
  hosts_are 'fd00:18::3 gpu03' 'fd00:18::4 gpu04'
  for node in gpu03 gpu04; do on "$node" ip addr flush dev eth0 scope global to 198.18.0.0/15; done
}
four_again() {
  local node
  for node in gpu03 gpu04; do
    on "$node" ip addr add "198.18.1.$((10#${node#gpu}))/15" dev eth0 2>/dev/null || true
  done
  six_again
}

# on_two COMMAND...: as four ranks there, without Slurm.
on_two() {
  local rank pids=()
  for rank in 0 1 2 3; do
    TOLD="$rank $((rank % 2))" on "gpu0$((3 + rank / 2))" muster run --rank "$rank" --world-size 4 \
      --local-rank $((rank % 2)) --endpoint gpu03:61888 -- "$@" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || return; done
}

nothing_but_six() {
  two_of_six
  fresh
  on_two "${member[@]}"
  MASTER_NETWORK=fd00:18:: evaluated 4
}

# PyTorch's ranks meet in the store that muster serves, and Gloo connects them.
torch_over_six() {
  local OMP_NUM_THREADS=1
  export OMP_NUM_THREADS
  PATH=$("$top/tests/python/venv")/bin:$PATH
  two_of_six
  fresh
  expect_output 'IPv4 addresses of gpu03' '' on gpu03 ip -4 -o addr show scope global
  expect_output 'IPv4 addresses of gpu04' '' on gpu04 ip -4 -o addr show scope global
  on_two sh -c 'echo "$MASTER_ADDR $TORCHELASTIC_USE_AGENT_STORE" >"$1/ranks/$RANK" && exec python "$2"' sh \
    "$dir" "$here/python/gloo.py" >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
  expect output "$(grep -v '^\[Gloo\]' "$dir/out")" 'sum 6 of 4'
  expect 'where the store is, and whose' "$(cat "$dir"/ranks/* | uniq -c | xargs)" '4 fd00:18::3 True'
}

# A name with two addresses, of which one leads nowhere.
six_that_leads_nowhere() {
  trap names_again EXIT
  hosts_are 'fd00:19::1 gpu01' '198.18.1.1 gpu01' '198.18.1.2 gpu02' 'fd00:19::2 gpu02' 'fd00:19::3 gpu03' \
    '198.18.1.3 gpu03' '198.18.1.4 gpu04'
  forms
}

both_families() {
  trap six_again EXIT
  six_ranks
  hosts_are 'fd00:18::1 gpu01' '198.18.1.1 gpu01' 'fd00:18::2 gpu02' '198.18.1.2 gpu02' 'fd00:18::3 gpu03' \
    '198.18.1.3 gpu03' 'fd00:18::4 gpu04' '198.18.1.4 gpu04'
  MASTER_NETWORK=any forms
}

# Bridges that each node has, with one and the same address.
bridges_of_containers() {
  trap 'every_node "ip link del docker0; ip link del br-7c1f" || true; names_again' EXIT
  every_node 'ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up
    ip link add br-7c1f type bridge && ip addr add 172.18.0.1/16 dev br-7c1f && ip link set br-7c1f up'
  forms
  hosts_are '172.17.0.1 @' '198.18.1.1 gpu01'
  forms
  hosts_are '198.18.1.99 nobody'
  by_file forms MUSTER_RENDEZVOUS_SLURM_HELPER=none
}

# ---- a second network

wire_ib() {
  local node
  for node in "${gpus[@]}"; do "$top/tests/cluster/wire" "$node" ib0 "10.7.0.$((10#${node#gpu}))/24"; done
}
unwire_ib() { every_node 'ip link del ib0' || true; }
# Bytes that a node has sent there so far.
sent_by() { on "$1" cat /sys/class/net/ib0/statistics/tx_bytes; }

# by_interface PATTERN: the data goes there, and NCCL and Gloo are told so.
by_interface() {
  local before after
  before=$(sent_by gpu03)
  MASTER_NETWORK=10.7.0. forms "MUSTER_RENDEZVOUS_INTERFACE=$1"
  after=$(sent_by gpu03)
  [[ $((after - before)) -gt 1000 ]] || fail "gpu03 has sent $((after - before)) bytes by ib0"
}

second_network() {
  trap unwire_ib EXIT
  wire_ib
  forms
  by_interface ib0
  by_interface 'ib*'
  by_interface 10.7.0.0/16
}

no_such_network() {
  fresh
  expect_code 78 step -N2 --ntasks-per-node=1 muster run --set rendezvous.interface=ib7 -- true 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*rendezvous.interface "ib7" matches no usable address of gpu0[1-9] (gpu0[1-9] has *eth0 198.18.1.*: choose one that leads to the other nodes)*'
}

# ---- one way only

# one_way FROM TO: FROM reaches TO by the second network, TO has no way to what FROM is called.
one_way() {
  wire_ib
  on "$1" ip route add "198.18.1.$((10#${2#gpu}))/32" dev ib0 src "10.7.0.$((10#${1#gpu}))"
  on "$2" ip route add blackhole "198.18.1.$((10#${1#gpu}))"
}
both_ways() {
  unwire_ib
  every_node 'ip route flush type blackhole'
}

# The root says that it reaches the node, the node that it does not reach the root.
one_way_from_the_root() {
  trap both_ways EXIT
  one_way gpu01 gpu02
  fresh
  MUSTER_TIMEOUTS_RENDEZVOUS=6s expect_code 75 step -N2 --ntasks-per-node=2 -w 'gpu[01-02]' muster run -- true 2>"$dir/err"
  expect_like 'the root' "$(cat "$dir/err")" \
    '*within 6s: 2/4 ranks; missing gpu02: 2,3 (no contact with the node, which gpu01 reaches)*'
  expect_like 'the node' "$(cat "$dir/err")" '*rank 2 on gpu02: *the root, rank 0 on gpu01, did not answer within 6s; 198.18.1.1:6*'
}

# Two nodes that both reach the root.
one_way_between_others() {
  trap both_ways EXIT
  one_way gpu02 gpu03
  fresh
  expect_code 69 step -N3 --ntasks-per-node=1 -w 'gpu[01-03]' muster check --quick >"$dir/out" 2>"$dir/err"
  expect_like report "$(cat "$dir/out")" '*gpu03 cannot reach gpu02: 198.18.1.2:*; the other way works*'
}

# ---- one way only, for data

# firewall FROM TO: what FROM sends to open a connection to TO (SYN without ACK) is led into a bridge without ports; what TO
# opens works.
firewall() {
  on "$2" sh -c 'ip link add sink type bridge && ip link set sink up && tc qdisc add dev eth0 ingress &&
    tc filter add dev eth0 ingress protocol ip u32 match ip src "$0" match ip protocol 6 0xff match u8 0x02 0x12 at 33 \
      action mirred egress redirect dev sink' "198.18.1.$((10#${1#gpu}))"
}
no_firewall() { every_node 'tc qdisc del dev eth0 ingress; ip link del sink' 2>/dev/null || true; }

# three_ranks [FLAG]...: 0, 1 and 2 on gpu01, gpu02 and gpu03; the digits need all pairs.
three_ranks() {
  fresh
  step -N3 --ntasks-per-node=1 -w 'gpu[01-03]' muster run "$@" -- "${member[@]}" 2>"$dir/err"
}

# REASON: why the higher rank does not reach the lower. Where the lower one comes before the higher has tried, there is
# nothing to say: that takes a second's stall at the wrong moment.
the_other_way_round() {
  local said try
  said="*rank 2 on gpu03: warning: rank 2 on gpu03 cannot reach rank 1 on gpu02, $(
    )though gpu02 reaches it: $1; connected the other way round*"
  for try in 1 2 3; do
    [[ $try -eq 1 ]] || rerun 'rank 1 had connected before rank 2 had tried'
    three_ranks
    evaluated 3
    # shellcheck disable=SC2053 # the pattern is meant as one
    [[ $(cat "$dir/err") != $said ]] || return 0
  done
  expect_like message "$(cat "$dir/err")" "$said"
}

one_way_without_a_route() {
  trap both_ways EXIT
  one_way gpu02 gpu03
  the_other_way_round '198.18.1.2:*'
}

one_way_through_a_firewall() {
  trap no_firewall EXIT
  firewall gpu03 gpu02
  the_other_way_round 'no answer for *'
}

# The data stops, the control plane goes on.
no_way_through_a_firewall() {
  trap no_firewall EXIT
  firewall gpu03 gpu02
  firewall gpu02 gpu03
  expect_code 69 three_ranks --set timeouts.connect=4s
  expect_like message "$(cat "$dir/err")" "*rank 0 on gpu01: error: *rank 2 on gpu03 cannot connect to rank 1 on gpu02 for $(
    )*: 198.18.1.2:*: no answer within 4s; that rank has not connected either*"
}

check_networks() {
  local patience=180
  check 'network: a name of its own is 127.0.1.1' names_of_debian
  check 'network: a name of its own is 127.0.1.1, an endpoint' names_of_debian_and_an_endpoint
  check 'network: a name of its own is 127.0.1.1, a store' names_of_debian_and_a_store
  check 'network: long names and short ones' names_with_a_domain
  check 'network: names that do not resolve' names_unknown
  check 'network: names that all lead home' names_that_lead_home
  check 'network: names that do not resolve, nobody to ask' names_unknown_and_no_helper
  check 'network: names that do not resolve, a shared file' names_unknown_and_a_file
  check 'network: names mean IPv6' only_six
  check 'network: IPv6 alone, no Slurm' nothing_but_six
  check 'network: IPv6 alone, PyTorch' torch_over_six
  check 'network: both families' both_families
  check 'network: IPv6 that leads nowhere' six_that_leads_nowhere
  check 'network: bridges with one address everywhere' bridges_of_containers
  check 'network: a second one, by name, glob and CIDR' second_network
  check 'network: one that is not there' no_such_network
  check 'network: the root reaches a node that does not reach it' one_way_from_the_root
  check 'network: one way only, between two others' one_way_between_others
  check 'network: no route one way, data goes the other' one_way_without_a_route
  check 'network: a firewall one way, data goes the other' one_way_through_a_firewall
  check 'network: a firewall both ways' no_way_through_a_firewall
  check 'network: nothing remains' nothing_remains
}

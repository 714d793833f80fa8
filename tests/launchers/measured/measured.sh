# Sourced by `run`: checks that compare times, or leave no processor to others. tests/run runs them alone.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # lib.sh uses patience; `run` sets here, top and files; `fresh` sets dir; checked and
# leaves_out are check.sh's

# 1 MB/s where the others have hundreds.
slow_node() {
  "$top/tests/cluster/throttle" gpu03 8mbit
  trap '"$top/tests/cluster/throttle" gpu03 off' EXIT
  checked 0
  leaves_out gpu03
  expect_like 'warning' "$(grep '^warning: gpu03' "$dir/out")" 'warning: gpu03 is slow: *out *, the median node *'
}

# flooded KIND: at full rate from three places (another user on the store's node, another user on another node of the
# group, the user on a node of another job) while the group's programs connect again and again.
descriptors_of() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
resident_of() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }
# The system's Python: another user may not read ours.
flood() {
  on "${@:2}" env PATH=/usr/bin:/bin python3 "$here/python/store_flood.py" 5 "$1" "${address[@]}" >>"$dir/made" 2>>"$dir/flood.err"
}
flooded() {
  local address job pid before resident highest=0 most=0 count attackers=()
  fresh
  step -N2 --ntasks-per-node=2 muster run --set liveness.suspect_after=2s --set liveness.dead_after=8s -- \
    python3 "$here/python/store_clients.py" "$dir" 2>"$dir/err" &
  job=$!
  until_true 60 has_files "$dir/ranks" 4
  read -r -a address <"$dir/ranks/0"
  pid=$(on gpu01 ss -Hltnp "sport = ${address[1]}" | grep -oE 'pid=[0-9]+' | head -n1 | cut -d= -f2)
  before=$(descriptors_of "$pid") resident=$(resident_of "$pid")
  flood "$1" --user nobody gpu01 & attackers+=($!)
  flood "$1" --user nobody gpu02 & attackers+=($!)
  flood "$1" gpu04 & attackers+=($!)
  while kill -0 "${attackers[@]}" 2>/dev/null; do
    count=$(descriptors_of "$pid")
    ((count <= highest)) || highest=$count
    count=$(resident_of "$pid")
    ((count <= most)) || most=$count
    sleep 0.1
  done
  wait "${attackers[@]}"
  touch "$dir/over"
  expect 'floods' "$(wc -l <"$dir/made")$(cat "$dir/flood.err")" 3
  wait "$job" || fail "the run failed: $(cat "$dir/err")"
  echo "    $1: $(xargs <"$dir/made") connections; $((highest - before)) descriptors, $((most - resident)) KiB," \
    "$(wc -l <"$dir/err") lines; longest wait $(cat "$dir"/longest.? | xargs) s" >>"$files/floods"
  ((highest - before < 256)) || fail "$((highest - before)) descriptors more"
  ((most - resident < 32 * 1024)) || fail "$((most - resident)) KiB more"
  (($(wc -l <"$dir/err") <= 20)) || fail "$(wc -l <"$dir/err") lines in the log"
  expect 'who fell silent' "$(grep -c 'no message from' "$dir/err")" 0
}

check_measured() {
  local patience=170 kind
  check 'check: a slow node' slow_node
  # The attacks of ../faults come to the store as well.
  for kind in silent garbage ${MUSTER_TESTS_LONG:+greets hangs-up resets}; do check "torch: a flood that is $kind" flooded "$kind"; done
  cat "$files/floods"
}

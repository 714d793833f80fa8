# Sourced by `run`: what a machine with a GPU can look like: UUIDs, other versions of the libraries, a GPU that another process
# uses, a GPU that hangs.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `run` sets bin, muster and files

# The checks of the GPU itself by `muster check`, in its JSON.
checked_by_muster() {
  local found
  found=$("${with[@]}" "$muster" launch -n "$1" -- "$muster" check --json 2>"$files/err") || fail "$(cat "$files/err")"
  python3 - "$1" "$found" >"$files/said" <<'END' || fail "$found"
import json, sys
report = json.loads(sys.argv[2])
gpus = report["gpus"]
assert report["passed"] and len(gpus) == int(sys.argv[1]), report
for gpu in gpus:
    assert not gpu["problem"] and gpu["words"] > 0 and gpu["elements"] > 0, gpu
    assert gpu["wrong_words"] == 0 and gpu["wrong_elements"] == 0, gpu
    assert gpu["write_bytes_per_s"] > 0 and gpu["read_bytes_per_s"] > 0 and gpu["product_flops"] > 0, gpu
    print(f"{gpu['name']}: memory written at {gpu['write_bytes_per_s'] / 1e9:.0f} GB/s, read at {gpu['read_bytes_per_s'] / 1e9:.0f} GB/s,",
          f"matrix product {gpu['product_flops'] / 1e12:.2f} TFLOP/s; {gpu['uncorrected_errors']} uncorrected memory errors")
END
}
# A broken GPU is named, with its node.
broken_named() {
  local fault=$1 sentence=$2 code=$3
  expect_code "$code" env STANDIN_GPU_FAULT="$fault" "${with[@]}" "$muster" launch -n 2 -- "$muster" check >"$files/out" 2>"$files/err"
  grep -q "$sentence" "$files/out" || fail "$(cat "$files/out" "$files/err")"
  grep -q '^--exclude=' "$files/out" || fail "$(cat "$files/out")"
}

# uuid_of_rank VARIABLE=VALUE...: of the GPU that one rank takes.
uuid_of_rank() {
  env "$@" "${with[@]}" "$muster" launch -n 1 -- "$muster" check --json 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["uuid"])'
}
last_gpu() {
  # shellcheck disable=SC2016 # for the inner shell
  "${with[@]}" sh -c 'if [ "${STANDIN_GPUS-}" ]; then echo $((STANDIN_GPUS - 1)); else nvidia-smi -L 2>/dev/null | grep -c "^GPU" | awk "{ print (\$1 > 0 ? \$1 - 1 : 0) }"; fi'
}
# The last one, by its UUID and by the first characters of it.
chosen_by_uuid() {
  local uuid last
  last=$(last_gpu)
  uuid=$(uuid_of_rank CUDA_VISIBLE_DEVICES="$last") || uuid=$(uuid_of_rank A=)
  expect_like 'a UUID' "$uuid" "$1-????????-????-????-????-????????????"
  expect 'the GPU that CUDA_VISIBLE_DEVICES names' "$(uuid_of_rank CUDA_VISIBLE_DEVICES="$uuid")" "$uuid"
  [[ $1 == MIG ]] || expect 'the GPU, by the beginning of its UUID' "$(uuid_of_rank CUDA_VISIBLE_DEVICES="${uuid%????????????}")" "$uuid"
  one_rank CUDA_VISIBLE_DEVICES="$uuid"
}
unknown_uuid() {
  local none=GPU-00000000-1111-2222-3333-444444444444
  expect_code 78 env CUDA_VISIBLE_DEVICES=$none "${with[@]}" "$muster" launch -n 1 --set backend=nccl -- "$bin/tests/gpu/collectives" \
    2>"$files/err" || fail "$(cat "$files/err")"
  grep -q "rank 0 on .*CUDA_VISIBLE_DEVICES=$none" "$files/err" || fail "$(cat "$files/err")"
}

# The GPU's memory is another process's. muster has nothing to allocate, and names rank, node and GPU.
taken_named() {
  expect_code 71 env "$@" "${with[@]}" "$muster" launch -n 1 --set backend=nccl -- "$bin/tests/gpu/collectives" >"$files/out" 2>"$files/err" ||
    fail "$(cat "$files/out" "$files/err")"
  grep -q 'rank 0 on .* could not start NCCL on \(GPU\|MIG\)-.*nvidia-smi lists the processes' "$files/err" || fail "$(cat "$files/err")"
  grep -i -q "$words" "$files/err" || fail "$(cat "$files/err")"
}
memory_is_taken() {
  local words='out of memory\|failure 2' hog code=0
  coproc hog { STANDIN_GPU_MEMORY=$((64 << 20)) "${with[@]}" "$bin/tests/gpu/full_gpu"; }
  # shellcheck disable=SC2154 # coproc sets them
  read -r -t 60 line <&"${hog[0]}" || fail 'full_gpu did not take the memory'
  expect_like 'full_gpu' "$line" 'full: * MiB'
  taken_named "$@" || code=$?
  eval "exec ${hog[1]}>&-"
  return "$code"
}
exclusive_mode() {
  local words='busy or unavailable\|failure 46'
  taken_named STANDIN_GPU_FAULT=taken
}

# homes FILE: the CUDA_HOME or NCCL_HOME of each such library on this machine.
homes() {
  local folder
  for folder in /usr/local/cuda*/lib64 /usr/local/cuda*/lib /usr/lib/x86_64-linux-gnu $(python_folders); do
    [[ ! -e $folder/$1 ]] || (cd "$folder/.." && pwd -P)
  done | sort -u
}
python_folders() {
  python3 -c 'import site, sys
from pathlib import Path
for place in {*site.getsitepackages(), site.getusersitepackages(), *(p for p in sys.path if p)}:
    for folder in Path(place).glob("nvidia/*/lib"): print(folder)' 2>/dev/null
}
# with_runtime HOME VERSION: that one is loaded, and right.
with_runtime() {
  expect_like 'versions' "$("${with[@]}" env CUDA_HOME="$1" "$bin/tests/gpu/bare_nccl" --versions)" "*, CUDA $2.*"
  one_rank CUDA_HOME="$1"
}
with_nccl_at() {
  local versions
  versions=$("${with[@]}" env NCCL_HOME="$1" "$bin/tests/gpu/bare_nccl" --versions)
  echo "$versions, from $1" >"$files/said"
  share_settings "$versions"
  one_rank NCCL_HOME="$1"
  alike+=(NCCL_HOME="$1")
  shared_by 2
}

check_machine() {
  local home
  said 60 "GPU, ${machine_checks[0]}" checked_by_muster 1
  said 90 "GPU, ${machine_checks[1]}" chosen_by_uuid GPU
  if nvidia-smi -L 2>/dev/null | grep -q MIG-; then
    said 90 "GPU, ${machine_checks[2]}" chosen_by_uuid MIG
  else
    skip "GPU, ${machine_checks[2]}" 'no GPU in MIG mode'
  fi
  said 60 "GPU, ${machine_checks[3]}" unknown_uuid
  said 120 "GPU, ${machine_checks[4]}" memory_is_taken
  skip "GPU, ${machine_checks[5]}" 'no GPU in exclusive mode (this script changes no setting of a GPU)'
  for version in 12 13; do
    home=$(homes "libcudart.so.$version" | head -n 1)
    if [[ $home ]]; then
      said 60 "GPU, CUDA's runtime $version" with_runtime "$home" "$version"
    else
      skip "GPU, CUDA's runtime $version" "no GPU runtime of that version (libcudart.so.$version in /usr/local/cuda* or python3's packages)"
    fi
  done
  for home in $(homes libnccl.so.2); do
    said 120 "GPU, NCCL in $home" with_nccl_at "$home"
  done
}
# Last: it may leave the GPU unusable.
check_hang() {
  said 90 "GPU, ${hang_checks[0]}" rank_hangs
  said 120 "GPU, ${hang_checks[1]}" one_rank
}

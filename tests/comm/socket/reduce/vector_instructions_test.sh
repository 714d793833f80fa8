#!/bin/bash
# The loops for AVX2 must be vector instructions: a compiler without the option to vectorise, or one that ignores it, writes
# loops that are right and three times as slow.
code=0
for instruction in vaddps vmulpd vpmaxsd; do
  if ! objdump --disassemble --no-show-raw-insn "$1" | grep -q "$instruction .*%ymm"; then
    echo "no $instruction of 256 bits in $1" >&2
    code=1
  fi
done
exit $code

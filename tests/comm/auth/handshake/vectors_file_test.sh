#!/bin/bash
# handshake_vectors.txt is what handshake_vectors.py prints, so that muster's code is held to the second implementation.
#
#   vectors_file_test.sh PROGRAM FILE
diff <("$1") "$2" || { echo "run $1 >$2"; exit 1; }

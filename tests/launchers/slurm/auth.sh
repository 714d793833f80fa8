# Sourced by `run`: how ranks prove who they are, where one way or another is there.
# shellcheck shell=bash
# shellcheck disable=SC2016 # the variables are the job's, not ours
# shellcheck disable=SC2154 # `run` sets here and files; `fresh` sets dir and member

# For a task: a node without munged.
without_munge=(unshare --mount sh -c 'mount -t tmpfs none /run/munge && exec "$@"' sh)

# proven METHOD [COMMAND...]: before muster.
proven() {
  fresh
  step -N3 --ntasks-per-node=2 "${@:2}" muster run --set "rendezvous.auth=$1" -- "${member[@]}"
  evaluated 6
}

# The secret is made in the batch script, as the documentation says, and nobody sees it there.
by_secret() {
  fresh
  batch -N3 --ntasks-per-node=2 <<-END
	export MUSTER_SECRET=\$(muster secret)
	srun ${without_munge[*]:0:4} '${without_munge[4]}' sh muster run --set rendezvous.auth=$1 -- ${member[*]}
	END
  evaluated 6
}

# Nothing is negotiated down.
by_nothing() {
  fresh
  expect_code 77 step -N2 --ntasks-per-node=1 "${without_munge[@]}" muster run -- "${member[@]}" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*munge*MUSTER_SECRET*'
}

# A container with the socket of its node's munged, and without libmunge: a secret serves, and without one all end now.
without_libmunge() {
  local library
  library=$(ldconfig -p | sed -n 's/.*libmunge\.so\.2 (libc6,x86-64) => //p')
  library=(unshare --mount sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$(readlink -f "$library")")
  MUSTER_SECRET=$(muster secret) proven auto "${library[@]}"
  fresh
  expect_code 77 step -N2 --ntasks-per-node=1 "${library[@]}" muster run -- "${member[@]}" 2>"$dir/err"
  expect_like message "$(cat "$dir/err")" '*cannot load libmunge.so.2: *no job secret is known*MUSTER_SECRET*'
}

another_secret() {
  fresh
  expect_code 77 step -N2 -w 'gpu[01-02]' --ntasks-per-node=1 sh -c 'MUSTER_SECRET=$(muster secret) exec "$@"' sh \
    muster run --set rendezvous.auth=secret --set timeouts.rendezvous=10s -- "${member[@]}" 2>"$dir/err"
}

check_auth() {
  begin 'auth: a secret each' another_secret
  check 'auth: munge, as by default here' proven munge
  check 'auth: none' proven none
  check 'auth: secret, munge hidden' by_secret secret
  check 'auth: auto, munge hidden' by_secret auto
  check 'auth: auto, neither munge nor secret' by_nothing
  check 'auth: auto, the socket of munge without libmunge' without_libmunge
  finish_begun
}

// rendezvous.auth: munge. Each side gives the other a munge credential whose payload is its role and the
// handshake's transcript hash, readable only by the own uid. So it proves "this uid, on a node with our munge
// key, is one end of exactly this exchange"; in another handshake it is worth nothing. If there is a job secret too, a
// hello proves it, so that a stranger costs neither public-key arithmetic nor a credential.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/auth/crypto.h"
#include "comm/auth/munge.h"
#include "comm/auth/proof.h"
#include "comm/system/blocking_worker.h"

namespace muster::auth {

struct MungeProverOptions {
  std::string socket = kDefaultMungeSocket;
  uid_t uid = 0;  // geteuid(): the own one, and the only one a peer may have
  // Called on the worker, for every proof: dlopen finds what is loaded already. A test gives its own.
  std::function<Result<MungeApi>()> load = [] { return LoadMunge(); };
  std::optional<SecretKey> psk = {};  // of MUSTER_SECRET, where it is set
};

// `worker` must outlive the prover. It may be destroyed while munged hangs; nothing of the prover is used by
// then.
std::unique_ptr<Prover> MakeMungeProver(MungeProverOptions options, BlockingWorker& worker);

}  // namespace muster::auth

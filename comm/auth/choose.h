// The meaning of `rendezvous.auth` on this node. A pure function: the facts are passed in.
#pragma once

#include <string>

#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::auth {

struct AuthFacts {
  AuthMethod configured = AuthMethod::kAuto;
  bool munge_socket_present = false;  // MungeSocketPresent(munge_socket)
  std::string munge_socket;           // for messages
  bool secret_known = false;          // MUSTER_SECRET, or from the launcher's key-value store
  bool several_nodes = false;
  std::string munge_library_problem = {};  // why libmunge does not load; empty: it does, or was not tried
};

// munge, secret or none; never auto. `auto`, the first that applies: munge if this node has a munge socket
// and libmunge; secret if one is known; none inside one node, because the kernel vouches for the peers of a
// Unix socket (SO_PEERCRED); else an error. An explicit method has no fallback. Error: kAuthentication, with
// advice.
Result<AuthMethod> ChooseAuth(const AuthFacts& facts);

}  // namespace muster::auth

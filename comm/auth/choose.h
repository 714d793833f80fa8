// Which method of authentication `rendezvous.auth` means here. A pure function: the facts are passed in.
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

// munge, secret or none; never auto. `auto`: munge if this node has a munge socket and libmunge, else secret if one
// is known, else, inside one node, none, because the kernel vouches for the peers of a Unix socket
// (SO_PEERCRED); else an error. There is no fall-back from what is written down. Error: kAuthentication, with
// advice.
Result<AuthMethod> ChooseAuth(const AuthFacts& facts);

}  // namespace muster::auth

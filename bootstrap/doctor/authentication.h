// How ranks on different nodes would prove to each other whose they are.
#pragma once

#include <string>

#include "bootstrap/doctor/finding.h"
#include "comm/base/deadline.h"
#include "comm/base/error.h"
#include "comm/options.h"

namespace muster::doctor {

struct AuthenticationFacts {
  std::string munge_socket;
  bool munge_socket_present = false;
  Status munge;  // a credential was made
  bool secret_known = false;
  std::string munge_library_problem = {};  // why libmunge does not load
};

// BLOCKS until munged has answered, at most until the deadline.
AuthenticationFacts LookAtAuthentication(const std::string& munge_socket, bool secret_known,
                                         Deadline deadline);

Finding JudgeAuthentication(const AuthenticationFacts& facts, AuthMethod configured);

}  // namespace muster::doctor

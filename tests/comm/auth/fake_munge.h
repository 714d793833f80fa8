// libmunge as a test wants it to be: every error, every clock, without a daemon.
#pragma once

#include <ctime>
#include <string>

#include "comm/auth/munge.h"

namespace muster::auth {

// The library has no place for a test's state, so there is one; reset it in SetUp.
struct FakeMunge {
  munge_err_t error = EMUNGE_SUCCESS;  // of the next encode and decode
  std::string context_text;            // munge_ctx_strerror; empty: none
  bool out_of_memory = false;
  std::string payload;
  uid_t uid = 0;
  gid_t gid = 0;
  uid_t only_for = static_cast<uid_t>(MUNGE_UID_ANY);
  time_t encode_time = 0;
  time_t decode_time = 0;
  // The values that the caller set.
  std::string socket;
  int ttl = 0;
  int live_contexts = 0;
  std::string decoded_text;
};

FakeMunge& TheFakeMunge();
MungeApi FakeMungeApi();

}  // namespace muster::auth

// A data connection that both ends have proven and taken (handshake.h).
#pragma once

#include <optional>

#include "comm/auth/data_seal.h"
#include "comm/base/unique_fd.h"

namespace muster::socket {

struct ProvenLink {
  UniqueFd fd;
  std::optional<auth::DataKeys> keys = {};  // absent: it stays plain
};

}  // namespace muster::socket

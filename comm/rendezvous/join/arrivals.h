// Who came to a rendezvous when, as its root saw it. A value, for reports.
#pragma once

#include <map>
#include <string>

#include "comm/base/deadline.h"

namespace muster::rendezvous {

struct Arrival {
  Duration at{};  // since the root began to wait
  std::string node;

  friend bool operator==(const Arrival&, const Arrival&) = default;
};

using Arrivals = std::map<int, Arrival>;  // by rank

}  // namespace muster::rendezvous

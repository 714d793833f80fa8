// A leader's search for the root, by any method. Destroying it ends the search.
#pragma once

#include <optional>
#include <string>

#include "comm/base/error.h"

namespace muster::rendezvous {

class RootFinder {
 public:
  RootFinder() = default;
  RootFinder(const RootFinder&) = delete;
  RootFinder& operator=(const RootFinder&) = delete;
  virtual ~RootFinder() = default;

  // The reason why it has not succeeded; empty if nothing has failed.
  virtual std::string Problem() const = 0;
  // A process that claims to be in this group rejected this one, or could not prove its identity.
  virtual std::optional<Error> rejection() const = 0;
};

}  // namespace muster::rendezvous

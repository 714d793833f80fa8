// A leader's search for the root, whichever way it goes about it. Destroying it ends the search.
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

  // Why it has not worked so far; empty where nothing went wrong yet.
  virtual std::string Problem() const = 0;
  // One of ours by its own account turned us away, or could not prove itself.
  virtual std::optional<Error> rejection() const = 0;
};

}  // namespace muster::rendezvous

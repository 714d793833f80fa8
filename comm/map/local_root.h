// The root of a map in a group of one, which has no control plane: a separate thread, while the map runs.
#pragma once

#include <memory>

#include "comm/group/root_link.h"
#include "comm/roster.h"

namespace muster::map {

class LocalRoot {
 public:
  // `roster` has one rank and outlives the result.
  static Result<std::unique_ptr<RootLink>> Start(const Roster& roster);
};

}  // namespace muster::map

// TORCHELASTIC_RUN_ID, which torchrun sets for its workers, and so does `muster run`, because PyTorch looks
// for it.
#pragma once

#include <string_view>

#include "bootstrap/environment/environment.h"

namespace muster::resolve {

// It begins so where `muster run` set it: then no torchrun is behind RANK and its like.
inline constexpr std::string_view kMusterRunId = "muster-";

inline bool HasTorchrun(const Environment& environment) {
  const auto run_id = environment.Get("TORCHELASTIC_RUN_ID");
  return run_id && !run_id->starts_with(kMusterRunId);
}

}  // namespace muster::resolve

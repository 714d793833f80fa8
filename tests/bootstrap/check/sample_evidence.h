// The findings of a check of a healthy group, to be spoilt by tests.
#pragma once

#include "bootstrap/check/findings/evidence.h"

namespace muster::check {

// gpu01, gpu02, ... with this number of ranks each.
Evidence SampleEvidence(int nodes, int ranks_on_each);

}  // namespace muster::check

// A rank that waits in Barrier #1 of the world, as a survey finds it in the ActivityTable.
#pragma once

#include "comm/group/activity.h"

namespace muster {

class InBarrier final : public ActivitySource {
 public:
  OperationState Look() const override {
    OperationState state;
    state.communicator = kWorldCommunicator;
    state.collective = state.active = true;
    state.operation = "Barrier";
    state.sequence = 1;
    return state;
  }
};

}  // namespace muster

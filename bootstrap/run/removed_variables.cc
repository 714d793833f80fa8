// What a program must not inherit, as visible data. A test holds the list.
#include <array>

#include "bootstrap/run/program_environment.h"

namespace muster::run {
namespace {

constexpr auto kAlways = std::to_array<RemovedVariable>({
    {"MUSTER_LAUNCHER", "chose how muster was started; the program was started by muster"},
    {"MUSTER_SECRET", "a secret; the program gets what it needs through the control socket"},
    {"TORCHELASTIC_USE_AGENT_STORE",
     "says that an outer torchrun listens on MASTER_PORT, which is muster's now"},
});

}  // namespace

std::span<const RemovedVariable> RemovedAlways() { return kAlways; }

}  // namespace muster::run

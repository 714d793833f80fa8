// The server that the launcher keeps for its ranks, PMI or PMIx, as far as the environment describes it.
#pragma once

#include <optional>
#include <string_view>

#include "bootstrap/environment/environment.h"
#include "comm/base/error.h"
#include "comm/pmi_access.h"
#include "comm/rank_tuple.h"

namespace muster {

// How this rank reaches its PMI server. `keeps_pmi`: `tuple`'s launcher keeps a PMI-1 server of its own,
// below which PMI_JOBID is left over from the step that it runs in. Pure. Error: kConfiguration if there is
// none, or it is that of another launcher than `tuple`'s (an mpiexec above a torchrun).
Result<PmiAccess> FindPmi(const Environment& environment, const RankTuple& tuple, bool keeps_pmi);

// The address of this process's PMIx server, "pmix-server.7368;tcp4://127.0.0.1:53313": one for each node and
// launch. Absent: there is none.
std::optional<std::string_view> FindPmixServer(const Environment& environment);

// The same as FindPmi of PMIx, whose library finds the server by itself.
Status CheckPmix(const Environment& environment, const RankTuple& tuple);

}  // namespace muster

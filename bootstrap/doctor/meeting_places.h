// The sockets at which the processes of this node would meet, and the addresses for those of other nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/doctor/finding.h"
#include "comm/net/hosts.h"

namespace muster::doctor {

// Makes a socket as a job would, in the first of `bases` in which that works, and removes it.
Finding ExamineSockets(const std::vector<std::string>& bases);

// `interfaces`: LocalInterfaces(). `infiniband`: devices of /sys/class/infiniband. `pattern`:
// rendezvous.interface, which chooses among them.
Finding JudgeNetwork(const std::vector<net::LocalInterface>& interfaces,
                     const std::vector<std::string>& infiniband,
                     const std::optional<std::string>& pattern = {});
Finding ExamineNetwork(const std::optional<std::string>& pattern);

}  // namespace muster::doctor

// The two wire protocols of PMI, as messages and bytes; no I/O.
//
//   PMI-1   cmd=lookup_name service=NAME\n                    blanks between fields, one message a line
//   PMI-2   "45    cmd=name-lookup;name=NAME;"                length in six digits; each field ends in ';'
//
// Every connection begins with a line of PMI-1 that names the version. Sources: RFC 13 of Flux (PMI-1), the
// PMI-2 page of MPICH's wiki, and captures of Hydra (MPICH 4.0) and Slurm 22.05.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/error.h"
#include "comm/pmi_access.h"

namespace muster::rendezvous {

struct PmiMessage {
  std::string command;
  // Of two fields of one name the first counts.
  std::map<std::string, std::string, std::less<>> fields;

  // Empty if there is none.
  std::string_view Get(std::string_view field) const;

  friend bool operator==(const PmiMessage&, const PmiMessage&) = default;
};

// Longer messages are not PMI.
inline constexpr size_t kLongestPmiMessage = 8 * 1024;

// Whole, as it goes over the connection. Names and values are not empty, printable, and have none of the
// protocols' own separators (blank, '=', ';').
std::string EncodePmi(PmiVersion version, std::string_view command,
                      const std::vector<std::pair<std::string_view, std::string_view>>& fields);

// Takes the first whole message from the front of `received`; absent: it is incomplete. Error: kDisagreement;
// the following bytes are not readable either.
Result<std::optional<PmiMessage>> TakePmi(PmiVersion version, std::string& received);

}  // namespace muster::rendezvous

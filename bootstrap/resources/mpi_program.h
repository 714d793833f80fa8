// Whether a command is an MPI program, by a few small reads of its files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

// The evidence: the MPI library that the program's file names ("libmpi.so.40"), `-m mpi4py`, or a Python file
// among the first arguments that imports mpi4py ("mpi4py in train.py"). Absent proves nothing: a script may
// start an MPI program.
std::optional<std::string> MpiIn(const std::vector<std::string>& command,
                                 const std::map<std::string, std::string, std::less<>>& environment);

// Logs one line if `ranks` is more than one: the launcher's MPI server, if there is one, serves one process.
void WarnOfMpi(const std::vector<std::string>& command,
               const std::map<std::string, std::string, std::less<>>& environment, int ranks);

}  // namespace muster

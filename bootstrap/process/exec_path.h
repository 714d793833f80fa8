// Where a program's file is looked for: execvp's rules, with the PATH that the program itself will get.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::process {

// The files to try in order. A name with a slash is taken as it stands; else NAME in each directory of PATH
// in `environment` (NAME=VALUE), an empty entry meaning the working directory; "/usr/local/bin:/bin:/usr/bin"
// where there is no PATH. Pure: touches no file. An empty name gives nothing.
std::vector<std::string> ExecCandidates(std::string_view name, const std::vector<std::string>& environment);

}  // namespace muster::process

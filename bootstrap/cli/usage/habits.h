// Options of torchrun, mpirun, srun, Accelerate and DeepSpeed on the command line of `muster run` or `muster
// launch`: carried out if muster has the same, else refused with one line that names the replacement.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::cli {

// "-n", "--set=a=1", "--"; not "-".
bool IsOption(std::string_view word);

// Whether `words`, those after the command's name, may have such an option. Fast: every start calls it.
bool MayHaveHabits(const std::vector<std::string>& words);

// Of a command: whether its option takes a value; nullopt: it has no such option.
struct OwnOptions {
  std::string_view command;
  std::function<std::optional<bool>(const std::string& name)> takes_value;
};

// The words with each such option replaced by muster's own. Words behind `--` or the program's name are left alone.
// `path` is PATH, for the Python of `-m`. Error: kUsage, a line for each option
// that muster has no equal of.
Result<std::vector<std::string>> TranslateHabits(const OwnOptions& own, const std::vector<std::string>& words,
                                                 std::string_view path);

}  // namespace muster::cli

#include "bootstrap/cli/usage/usage_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/config/text/nearest.h"
#include "comm/base/parse.h"

namespace muster::cli {
namespace {

constexpr const char* kAllCommands = "muster help lists the commands";

std::string DidYouMean(std::string_view nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

// Compared without dashes, so that short options are not near each other.
std::string NearestOption(std::string_view unknown, const std::vector<std::string_view>& names) {
  const std::string_view word = unknown.substr(0, unknown.find('='));
  const std::string_view nearest =
      config::Nearest(word.substr(std::min(word.find_first_not_of('-'), word.size())), names);
  return nearest.empty() ? "" : fmt::format("--{}", nearest);
}

// CLI11's "CMD is required", "--ranks: 1 required N missing", "--ranks requires --stacks",
// "--ranks: At Most 1 required but received 2", "ACTION: x not in {verify,merge}".
std::string InOurWords(std::string_view called, const std::string& message) {
  const auto between = [&message](std::string_view separator, std::string_view end) {
    const size_t at = message.find(separator);
    const bool found = at != std::string::npos && message.ends_with(end);
    const size_t rest = at + separator.size();
    return found ? std::pair(message.substr(0, at), message.substr(rest, message.size() - end.size() - rest))
                 : std::pair<std::string, std::string>();
  };
  if (const auto [name, value] = between(": 1 required ", " missing"); !name.empty()) {
    return fmt::format("{} needs a value: {} {}", name, name, value);
  }
  if (const size_t at = message.find(": At Most 1 required"); at != std::string::npos)
    return fmt::format("{} is given more than once", message.substr(0, at));
  if (const auto [name, rest] = between(" not in {", "}"); !name.empty()) {
    const size_t colon = name.find(": ");
    if (colon != std::string::npos)
      return fmt::format("{} is {}, not \"{}\"", name.substr(0, colon), fmt::join(Split(rest, ','), " or "),
                         name.substr(colon + 2));
  }
  if (const auto [name, end] = between(" is required", ""); !name.empty())
    return fmt::format("{} needs {}", called, name);
  if (const auto [name, other] = between(" requires ", ""); !name.empty())
    return fmt::format("{} needs {}", name, other);
  if (const auto [name, other] = between(" excludes ", ""); !name.empty()) {
    return fmt::format("{} and {} exclude each other", name, other);
  }
  return message;
}

Error WithoutCommand(const std::vector<std::string_view>& names, const std::vector<std::string>& words) {
  if (words.empty()) return {Code::kUsage, "muster needs a command", kAllCommands};
  const std::string& word = words.front();
  if (word.starts_with('-')) {
    return {Code::kUsage, fmt::format("muster has no option \"{}\"; the command comes first", word),
            kAllCommands};
  }
  const std::string_view nearest = config::Nearest(word, names);
  return {Code::kUsage, fmt::format("muster has no command \"{}\"{}", word, DidYouMean(nearest)),
          nearest.empty() ? fmt::format("{}; a program runs with: muster run -- {} ...", kAllCommands, word)
                          : kAllCommands};
}

}  // namespace

Error UsageProblem(const BadCommandLine& line) {
  std::vector<std::string> unknown = line.unknown;
  std::erase(unknown, "--");
  if (line.command.empty()) return WithoutCommand(line.names, unknown);
  const std::string called = fmt::format("muster {}", line.command);
  std::string message = InOurWords(called, line.problem);
  if (!unknown.empty()) {
    const std::string& word = unknown.front();
    const bool option = word.starts_with('-');
    message = fmt::format("{} has no {} \"{}\"{}", called, option ? "option" : "argument", word,
                          DidYouMean(option ? NearestOption(word, line.names) : ""));
  }
  return {Code::kUsage, message, called + " --help lists the options"};
}

}  // namespace muster::cli

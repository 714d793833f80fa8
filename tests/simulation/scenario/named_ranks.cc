#include "tests/simulation/scenario/named_ranks.h"

#include <regex>
#include <string_view>

#include "comm/base/parse.h"

namespace muster::simulation {

std::set<int> RanksIn(const std::string& text) {
  static const std::regex pattern(R"((?:ranks?|missing|,) ([0-9,-]+)|n[0-9]+: ([0-9,-]+))");
  static const std::regex compared("than ranks? [0-9,-]+");
  const std::string message = std::regex_replace(text, compared, "");
  std::set<int> ranks;
  for (std::sregex_iterator found(message.begin(), message.end(), pattern), end; found != end; ++found) {
    const std::string list = (*found)[1].matched ? (*found)[1].str() : (*found)[2].str();
    for (const std::string_view part : Split(list, ',')) {
      const size_t dash = part.find('-');
      const auto first = ParseInteger<int>(part.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : ParseInteger<int>(part.substr(dash + 1));
      for (int rank = first.value_or(0); first && last && rank <= *last; ++rank) ranks.insert(rank);
    }
  }
  return ranks;
}

}  // namespace muster::simulation

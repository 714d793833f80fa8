#include "tests/simulation/search/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <string_view>

#include "comm/base/parse.h"

namespace muster::simulation {
namespace {

constexpr int kMostConnections = 128;
constexpr size_t kMostRosterBytes = 1000000;
constexpr Duration kAllKnowWithin = std::chrono::milliseconds(200);
constexpr Duration kSurveyWithin = std::chrono::seconds(2);
constexpr size_t kMostBytesOfNames = 1024;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Named {
  std::set<int> nodes;
  size_t bytes = 0;  // of the host lists
};

// "missing n1: 8 (...); n[99,199-201] and 2 more: 792 (...)": each node by number, and only those with a name.
Named NodesIn(const std::string& message) {
  static const std::regex pattern(R"((?:missing|;) (n[^:(]*): )");
  Named named;
  for (std::sregex_iterator found(message.begin(), message.end(), pattern), end; found != end; ++found) {
    std::string list = (*found)[1].str();
    named.bytes += list.size();
    list.resize(std::min(list.size(), list.find(" and ")));
    std::erase_if(list, [](char c) { return c == 'n' || c == '[' || c == ']'; });
    for (const std::string_view part : Split(list, ',')) {
      const size_t dash = part.find('-');
      const auto first = ParseInteger<int>(part.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : ParseInteger<int>(part.substr(dash + 1));
      for (int node = first.value_or(0); first && last && node <= *last; ++node) named.nodes.insert(node);
    }
  }
  return named;
}

}  // namespace

void Bounds::Expect(bool kept, const std::string& otherwise) {
  if (kept) return;
  broken_ = true;
  fmt::print("{:<12}{}\n", "broken", otherwise);
}

void Bounds::Connections(int most) {
  Expect(most <= kMostConnections,
         fmt::format("a process has {} connections, more than {}", most, kMostConnections));
}

void Bounds::Roster(size_t bytes) {
  Expect(bytes <= kMostRosterBytes,
         fmt::format("the roster has {} bytes, more than {}", bytes, kMostRosterBytes));
}

void Bounds::Survey(int reports, int ranks, Duration took) {
  Expect(took > Duration::zero() && took <= kSurveyWithin && reports == ranks,
         fmt::format("the survey has {} of {} ranks after {:.3f} s (0: no answer); expected: all within {} s",
                     reports, ranks, Seconds(took), Seconds(kSurveyWithin)));
}

void Bounds::Kill(int know, int others, Duration took) {
  Expect(know == others && took <= kAllKnowWithin,
         fmt::format("{} of {} have the name of the killed node, after {:.3f} s; expected: all within {} s",
                     know, others, Seconds(took), Seconds(kAllKnowWithin)));
}

void Bounds::Names(const std::string& message, const std::set<int>& absent) {
  const Named named = NodesIn(message);
  Expect(named.nodes == absent, fmt::format("the message names {} nodes, and not the {} that are absent",
                                            named.nodes.size(), absent.size()));
  Expect(named.bytes <= kMostBytesOfNames,
         fmt::format("the names of nodes have {} bytes, more than {}", named.bytes, kMostBytesOfNames));
}

}  // namespace muster::simulation

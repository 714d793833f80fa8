#include "bootstrap/check/findings/slow_nodes.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "bootstrap/check/findings/units.h"

namespace muster::check {
namespace {

constexpr size_t kFewestNodes = 3;
constexpr double kTimesSlower = 4;
constexpr double kSlowerByNs = 200e3;
constexpr double kTimesNarrower = 2;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// How many times larger or smaller.
double Times(double a, double b) { return a > b ? a / b : b / a; }

struct Spread {
  double median = 0;
  double times = 1;  // of half of the nodes the median is at most this factor larger or smaller
};

Spread SpreadOf(std::vector<double> values) {
  Spread spread{Median(values), 1};
  if (spread.median <= 0) return spread;
  for (double& value : values) value = Times(std::max(value, 1.0), spread.median);
  spread.times = Median(std::move(values));
  return spread;
}

struct Figure {
  const char* name;
  std::function<double(const socket::LinkFigures&)> of;
  std::function<std::string(double)> show;
  bool time;  // more is worse
};

std::vector<Figure> Figures() {
  const auto time = [](double value) { return ShowNanoseconds(static_cast<int64_t>(value)); };
  const auto rate = [](double value) { return ShowRate(static_cast<uint64_t>(value)); };
  return {{"round trip", [](const socket::LinkFigures& f) { return static_cast<double>(f.round_trip_ns); },
           time, true},
          {"out", [](const socket::LinkFigures& f) { return static_cast<double>(f.out_bytes_per_s); }, rate,
           false},
          {"in", [](const socket::LinkFigures& f) { return static_cast<double>(f.in_bytes_per_s); }, rate,
           false}};
}

bool IsOff(const Figure& figure, double value, const Spread& all) {
  const bool worse = figure.time ? value > all.median + kSlowerByNs : value < all.median;
  if (!worse) return false;
  const double usual = all.times * all.times * all.times;
  return Times(std::max(value, 1.0), all.median) >
         std::max(figure.time ? kTimesSlower : kTimesNarrower, usual);
}

}  // namespace

std::vector<SlowNode> FindSlowNodes(const std::vector<NodeLinks>& links) {
  std::vector<SlowNode> slow;
  for (size_t node = 0; node < links.size(); ++node) {
    if (links[node].measured > 0) slow.push_back({static_cast<int>(node), {}});
  }
  if (slow.size() < kFewestNodes) return {};
  for (const Figure& figure : Figures()) {
    const auto value_of = [&](const SlowNode& one) {
      return figure.of(links[static_cast<size_t>(one.node)].median);
    };
    std::vector<double> values;
    for (const SlowNode& one : slow) values.push_back(value_of(one));
    const Spread all = SpreadOf(std::move(values));
    for (SlowNode& one : slow) {
      if (!IsOff(figure, value_of(one), all)) continue;
      one.why += fmt::format("{}{} {}, the median node {}", one.why.empty() ? "" : "; ", figure.name,
                             figure.show(value_of(one)), figure.show(all.median));
    }
  }
  std::erase_if(slow, [](const SlowNode& one) { return one.why.empty(); });
  return slow;
}

}  // namespace muster::check

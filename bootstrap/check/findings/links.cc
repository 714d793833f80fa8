#include "bootstrap/check/findings/links.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace muster::check {
namespace {

// The one in the middle of `figures` by `order`, or the one before.
template <typename Value, typename Order>
Value Middle(const std::vector<socket::LinkFigures>& figures, Value socket::LinkFigures::*field,
             Order order) {
  std::vector<Value> values;
  values.reserve(figures.size());
  for (const socket::LinkFigures& one : figures) values.push_back(one.*field);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end(), order);
  return *middle;
}

}  // namespace

socket::LinkFigures MedianOf(const std::vector<socket::LinkFigures>& figures) {
  socket::LinkFigures median;
  if (figures.empty()) return median;
  median.round_trip_ns = Middle(figures, &socket::LinkFigures::round_trip_ns, std::less<>());
  median.clock_ahead_ns = Middle(figures, &socket::LinkFigures::clock_ahead_ns,
                                 [](int64_t a, int64_t b) { return std::llabs(a) < std::llabs(b); });
  median.out_bytes_per_s = Middle(figures, &socket::LinkFigures::out_bytes_per_s, std::greater<>());
  median.in_bytes_per_s = Middle(figures, &socket::LinkFigures::in_bytes_per_s, std::greater<>());
  return median;
}

Result<NodeLinks> DecodeNodeLinks(ByteView bytes, int nodes, std::string_view what) {
  FieldReader reader(bytes);
  NodeLinks links;
  reader(links);
  for (const LinkTrouble& trouble : links.troubles) reader.Require(trouble.node >= 0 && trouble.node < nodes);
  MUSTER_CHECK(reader.Finish(what));
  return links;
}

}  // namespace muster::check

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

void Write(WireWriter& writer, const NodeLinks& links) {
  writer.U32(static_cast<uint32_t>(links.troubles.size()));
  for (const LinkTrouble& trouble : links.troubles) {
    writer.I32(trouble.node);
    writer.String(trouble.reason);
  }
  writer.I32(links.measured);
  writer.I64(links.median.round_trip_ns);
  writer.I64(links.median.clock_ahead_ns);
  writer.U64(links.median.out_bytes_per_s);
  writer.U64(links.median.in_bytes_per_s);
}

NodeLinks ReadNodeLinks(WireReader& reader, int nodes) {
  NodeLinks links;
  const uint32_t troubles = reader.Count(sizeof(int32_t) + sizeof(uint32_t));
  for (uint32_t i = 0; i < troubles && reader.ok(); ++i) {
    const int node = reader.I32();
    if (node < 0 || node >= nodes) reader.MarkBad();
    links.troubles.push_back({node, reader.String()});
  }
  links.measured = reader.I32();
  links.median.round_trip_ns = reader.I64();
  links.median.clock_ahead_ns = reader.I64();
  links.median.out_bytes_per_s = reader.U64();
  links.median.in_bytes_per_s = reader.U64();
  return links;
}

}  // namespace muster::check

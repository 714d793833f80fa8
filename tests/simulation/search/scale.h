// How much a group of thousands of nodes costs: production code on simulated machines, with the processor time that it takes.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::simulation {

// `size`: "12500x8", leaders and ranks of each; `fan_out` of their tree, 0: a star. Prints a table; the exit status is 1 if
// a bound is broken, which a line names.
int RunScale(std::string_view size, size_t fan_out);

}  // namespace muster::simulation

// Single elements of a buffer as numbers, whatever their type: for what checks results. Slow.
#pragma once

#include <cstddef>

#include "comm/data_type.h"

namespace muster::socket {

// Whole numbers wrap around as the type does; reals are rounded to it.
void SetElement(DataType type, void* data, size_t index, double value);
double GetElement(DataType type, const void* data, size_t index);

}  // namespace muster::socket

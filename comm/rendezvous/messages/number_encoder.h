// The bytes of a column of numbers: the other side of number_column.h.
#pragma once

#include <vector>

#include "comm/base/bytes.h"

namespace muster::rendezvous {

// Appends them.
void EncodeNumbers(const std::vector<int>& values, Bytes& bytes);

}  // namespace muster::rendezvous

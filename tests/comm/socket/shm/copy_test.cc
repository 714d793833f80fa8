#include "comm/socket/shm/copy.h"

#include <gtest/gtest.h>

#include "comm/base/bytes.h"

namespace muster::socket {
namespace {

TEST(CopyBytes, CopiesEveryLengthAtEveryAlignmentAndNothingElse) {
  Bytes from(9000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (const size_t length : {0, 1, 63, 64, 65, 1024, 1025, 1100, 4096, 8000}) {
    for (const size_t offset : {0, 1, 15, 33, 64}) {
      for (const bool uncached : {false, true}) {
        Bytes to(from.size(), 0xee);
        CopyBytes(to.data() + offset, from.data() + 3, length, uncached);
        Bytes expected(from.size(), 0xee);
        std::copy_n(from.begin() + 3, length, expected.begin() + static_cast<ptrdiff_t>(offset));
        ASSERT_EQ(to, expected) << length << " at " << offset;
      }
    }
  }
}

}  // namespace
}  // namespace muster::socket

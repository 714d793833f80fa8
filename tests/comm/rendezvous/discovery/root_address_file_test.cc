#include "comm/rendezvous/discovery/root_address_file.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

TEST(NoticeFile, IsReadAsItWasWritten) {
  const std::string file = EncodeRootAddressFile("muster-notice 1 - 10.1.2.3:61000");
  EXPECT_EQ(file, "muster-notice 1 - 10.1.2.3:61000\n0ae6f567c0f511098ffec790abe0b910\n");
  EXPECT_EQ(DecodeRootAddressFile(file), "muster-notice 1 - 10.1.2.3:61000");
}

TEST(NoticeFile, IsReadAsAWholeOnly) {
  const std::string file = EncodeRootAddressFile("muster-notice 1 - 10.1.2.3:61000");
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(DecodeRootAddressFile(file.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(DecodeRootAddressFile(file + file), std::nullopt);
  std::string changed = file;
  changed[20] = '2';
  EXPECT_EQ(DecodeRootAddressFile(changed), std::nullopt);
  EXPECT_EQ(DecodeRootAddressFile(std::string(kLongestRootAddressFile + 1, 'x')), std::nullopt);
  EXPECT_EQ(DecodeRootAddressFile(std::string(64, '\0')), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous

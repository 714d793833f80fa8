#include "comm/rendezvous/discovery/notice_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(NoticeFile, IsReadAsItWasWritten) {
  const std::string file = EncodeNoticeFile("muster-notice 1 - 10.1.2.3:61000");
  EXPECT_EQ(file, "muster-notice 1 - 10.1.2.3:61000\n0ae6f567c0f511098ffec790abe0b910\n");
  EXPECT_EQ(DecodeNoticeFile(file), "muster-notice 1 - 10.1.2.3:61000");
}

TEST(NoticeFile, IsReadAsAWholeOnly) {
  const std::string file = EncodeNoticeFile("muster-notice 1 - 10.1.2.3:61000");
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(DecodeNoticeFile(file.substr(0, length)), std::nullopt) << length;
  }
  EXPECT_EQ(DecodeNoticeFile(file + file), std::nullopt);
  std::string changed = file;
  changed[20] = '2';
  EXPECT_EQ(DecodeNoticeFile(changed), std::nullopt);
  EXPECT_EQ(DecodeNoticeFile(std::string(kLongestNoticeFile + 1, 'x')), std::nullopt);
  EXPECT_EQ(DecodeNoticeFile(std::string(64, '\0')), std::nullopt);
}

}  // namespace
}  // namespace muster

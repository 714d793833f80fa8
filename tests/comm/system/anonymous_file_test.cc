#include "comm/system/anonymous_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

constexpr size_t kBytes = size_t{64} * 1024;

TEST(AnonymousFile, IsSharedZeroAndNameless) {
  const auto file = MakeAnonymousFile(kBytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(IsAnonymousFile(file->get(), kBytes));
  EXPECT_FALSE(IsAnonymousFile(file->get(), kBytes + 1));
  struct stat status {};
  ASSERT_EQ(fstat(file->get(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0U);
  EXPECT_NE(fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
  void* one = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0);
  void* other = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file->get(), 0);
  ASSERT_NE(one, MAP_FAILED);
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_EQ(static_cast<const char*>(other)[kBytes - 1], 0);
  std::memset(one, 7, kBytes);
  EXPECT_EQ(static_cast<const char*>(other)[kBytes - 1], 7);
  munmap(one, kBytes);
  munmap(other, kBytes);
}

TEST(AnonymousFile, OfMoreThanThereIsIsAnError) { EXPECT_FALSE(MakeAnonymousFile(size_t{1} << 63)); }

TEST(AnonymousFile, IsNoFileWithANameAndNoneThatLacksBytes) {
  std::string name = testing::TempDir() + "anonymous-XXXXXX";
  const UniqueFd file(mkostemp(name.data(), O_CLOEXEC));
  ASSERT_TRUE(file);
  ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(kBytes)), 0);
  EXPECT_FALSE(IsAnonymousFile(file.get(), kBytes));
  unlink(name.c_str());
  EXPECT_FALSE(IsAnonymousFile(file.get(), kBytes)) << "a write to it may end in SIGBUS";
  EXPECT_FALSE(IsAnonymousFile(-1, kBytes));
}

}  // namespace
}  // namespace muster

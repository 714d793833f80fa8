#include "comm/auth/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::auth {
namespace {

constexpr std::string_view kText = "00112233445566778899aabbccddeeffffeeddccbbaa99887766554433221100";
constexpr const char* kHint = "export MUSTER_SECRET=$(muster secret) in the batch script, before srun";

void ExpectRefused(std::string_view text, std::string_view message) {
  const Result<JobSecret> parsed = JobSecret::Parse(text, "MUSTER_SECRET");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kConfiguration);
  EXPECT_EQ(parsed.error().message, message);
  EXPECT_EQ(parsed.error().hint, kHint);
}

TEST(JobSecret, GeneratesWhatParsesBack) {
  const Result<JobSecret> secret = JobSecret::Generate();
  ASSERT_TRUE(secret);
  EXPECT_THAT(secret->Text(), testing::MatchesRegex("[0-9a-f]{64}"));
  const Result<JobSecret> parsed = JobSecret::Parse(secret->Text(), "MUSTER_SECRET");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, *secret);
}

TEST(JobSecret, IsAnotherEachTime) { EXPECT_FALSE(*JobSecret::Generate() == *JobSecret::Generate()); }

TEST(JobSecret, ReadsBothCases) {
  std::string upper(kText);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const Result<JobSecret> lower = JobSecret::Parse(kText, "MUSTER_SECRET");
  ASSERT_TRUE(lower);
  EXPECT_EQ(lower->Text(), kText);
  EXPECT_EQ(*JobSecret::Parse(upper, "MUSTER_SECRET"), *lower);
}

TEST(JobSecret, RefusesAllElseWithoutShowingIt) {
  ExpectRefused("",
                "MUSTER_SECRET is not a job secret: it has 0 characters, 64 hexadecimal digits are expected");
  ExpectRefused(
      kText.substr(1),
      "MUSTER_SECRET is not a job secret: it has 63 characters, 64 hexadecimal digits are expected");
  ExpectRefused(
      std::string(kText) + "\n",
      "MUSTER_SECRET is not a job secret: it has 65 characters, 64 hexadecimal digits are expected");
  for (const size_t position : {size_t{0}, size_t{1}, size_t{40}, size_t{63}}) {
    for (const char bad : {'g', 'G', ' ', '\0', '-', '\xff', '/', ':', '@', '`'}) {
      std::string text(kText);
      text[position] = bad;
      ExpectRefused(text,
                    fmt::format("MUSTER_SECRET is not a job secret: character {} is not a hexadecimal digit",
                                position + 1));
    }
  }
}

TEST(JobSecret, PskIsDerivedNotCopied) {
  const Result<JobSecret> secret = JobSecret::Parse(kText, "MUSTER_SECRET");
  const Result<JobSecret> other = JobSecret::Generate();
  ASSERT_TRUE(secret && other);
  EXPECT_TRUE(EqualInConstantTime(secret->Psk().view(), secret->Psk().view()));
  EXPECT_FALSE(EqualInConstantTime(secret->Psk().view(), other->Psk().view()));
  EXPECT_NE(secret->Psk().view()[1], 0x11);
}

}  // namespace
}  // namespace muster::auth

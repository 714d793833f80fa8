#include "comm/rendezvous/messages/versions.h"

#include <gtest/gtest.h>

#include "comm/rendezvous/messages/messages.h"

namespace muster::rendezvous {
namespace {

uint16_t Common(uint16_t oldest, uint16_t newest) {
  const Speaker ours{"this", {4, 5, "0.5.0"}};
  return CommonVersion(ours, {"that", {oldest, newest, "0.9.0"}}).value_or(0);
}

TEST(VersionsTest, AreReadBack) {
  const Versions versions{3, 70, "1.2.3"};
  const Bytes frame = Encode(versions);
  EXPECT_EQ(ControlTypeOf(frame), ControlType::kVersions);
  const auto read = DecodeVersions(frame);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, versions);
}

// Every release must read this, whatever its version is.
TEST(VersionsTest, HaveTheSameBytesInEveryRelease) {
  const Bytes frame = {24, 2, 0, 3, 0, 5, 0, 0, 0, '0', '.', '2', '.', '0'};
  EXPECT_EQ(Encode(Versions{2, 3, "0.2.0"}), frame);
}

TEST(VersionsTest, WhatALaterReleaseAddsIsIgnored) {
  Bytes frame = Encode(Versions{3, 4, "1.2.3"});
  frame.push_back(7);
  const auto read = DecodeVersions(frame);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->release, "1.2.3");
}

TEST(VersionsTest, MalformedOnesAreRefused) {
  const Bytes frame = Encode(Versions{3, 4, "1.2.3"});
  for (size_t size = 1; size < frame.size(); ++size)
    EXPECT_FALSE(DecodeVersions({frame.data(), size})) << size;
  EXPECT_FALSE(DecodeVersions(Encode(Versions{4, 3, "1.2.3"})));
  EXPECT_FALSE(DecodeVersions(Encode(Versions{3, 4, std::string(101, 'x')})));
}

TEST(VersionsTest, TheNewestThatBothSpeakIsSpoken) {
  EXPECT_EQ(Common(4, 5), 5);
  EXPECT_EQ(Common(5, 6), 5);
  EXPECT_EQ(Common(3, 4), 4);
  EXPECT_EQ(Common(1, 9), 5);
  EXPECT_EQ(Common(6, 7), 0);
  EXPECT_EQ(Common(2, 3), 0);
}

TEST(VersionsTest, ThisReleaseSpeaksItsOwn) {
  const Versions versions;
  EXPECT_LE(versions.oldest, versions.newest);
  EXPECT_EQ(versions.newest, auth::kProtocolVersion);
  EXPECT_EQ(CommonVersion({"a", versions}, {"b", versions}), auth::kProtocolVersion);
}

TEST(VersionsTest, RanksOfOneGroupSpeakTheSame) {
  const Speaker ours{"the leader of gpu01", {4, 5, "0.5.0"}};
  EXPECT_TRUE(CheckSameVersion(ours, {"pid 7", {5, 5, "0.5.1"}}));
  const Status refused = CheckSameVersion(ours, {"pid 7", {5, 6, "0.6.0"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            (Error{Code::kDisagreement,
                   "pid 7 has muster 0.6.0 (protocol 5-6), the leader of gpu01 has muster 0.5.0 "
                   "(protocol 4-5)",
                   "start all ranks with the same release of muster"}));
}

}  // namespace
}  // namespace muster::rendezvous

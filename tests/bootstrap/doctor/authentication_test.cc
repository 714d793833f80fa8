#include <gtest/gtest.h>

#include "bootstrap/doctor/findings.h"
#include "comm/net/private_directory.h"

namespace muster::doctor {
namespace {

AuthenticationFacts Facts(bool socket, Status munge, bool secret) {
  return {"/run/munge.socket", socket, std::move(munge), secret};
}

TEST(JudgeAuthentication, MungeThatAnswersIsEnough) {
  const Finding finding = JudgeAuthentication(Facts(true, {}, false), AuthMethod::kAuto);
  EXPECT_EQ(finding.health, Health::kOk);
  EXPECT_EQ(finding.found, "munge: munged makes credentials, which prove the user");
}

TEST(JudgeAuthentication, MungeThatFailsIsAProblem) {
  const Finding finding =
      JudgeAuthentication(Facts(true, Fail(Code::kAuthentication, "munged is out"), true), AuthMethod::kAuto);
  EXPECT_EQ(finding.health, Health::kProblem);
  EXPECT_EQ(finding.found, "munged is out");
}

// That of the failure, if it has one: munged may not be the cause.
TEST(JudgeAuthentication, HasTheRemedyOfTheFailure) {
  const Status failed = WithHint(Fail(Code::kSystem, "cannot start a thread"), "raise ulimit -u");
  EXPECT_EQ(JudgeAuthentication(Facts(true, failed, false), AuthMethod::kAuto).remedy, "raise ulimit -u");
  EXPECT_EQ(
      JudgeAuthentication(Facts(true, Fail(Code::kSystem, "it is out"), false), AuthMethod::kAuto).remedy,
      "start munged, or set a MUSTER_SECRET and rendezvous.auth: secret");
}

TEST(JudgeAuthentication, ASecretReplacesMunge) {
  EXPECT_EQ(JudgeAuthentication(Facts(false, {}, true), AuthMethod::kAuto).found,
            "MUSTER_SECRET; there is no munge");
  EXPECT_EQ(
      JudgeAuthentication(Facts(true, Fail(Code::kAuthentication, "out"), true), AuthMethod::kSecret).health,
      Health::kOk);
}

TEST(JudgeAuthentication, ASecretReplacesMungeWithoutItsLibrary) {
  AuthenticationFacts facts = Facts(true, Fail(Code::kAuthentication, "cannot load libmunge.so.2"), true);
  facts.munge_library_problem = "cannot load libmunge.so.2";
  EXPECT_EQ(JudgeAuthentication(facts, AuthMethod::kAuto).found,
            "MUSTER_SECRET; no munge: cannot load libmunge.so.2");
  facts.secret_known = false;
  EXPECT_EQ(JudgeAuthentication(facts, AuthMethod::kAuto).health, Health::kNote);
}

TEST(JudgeAuthentication, NeitherIsANote) {
  const Finding finding = JudgeAuthentication(Facts(false, {}, false), AuthMethod::kAuto);
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_EQ(finding.found, "no munge socket at /run/munge.socket, and no MUSTER_SECRET");
  EXPECT_EQ(JudgeAuthentication(Facts(false, {}, false), AuthMethod::kNone).cost,
            "strangers can take part in a job");
}

TEST(LookAtAuthentication, NoSocketIsNotAsked) {
  const AuthenticationFacts facts =
      LookAtAuthentication("/nonexistent/munge", true, Deadline::After(std::chrono::seconds(10)));
  EXPECT_FALSE(facts.munge_socket_present);
  EXPECT_TRUE(facts.munge);
  EXPECT_TRUE(facts.secret_known);
}

TEST(LookAtAuthentication, AMungedThatIsSilentEndsAtTheDeadline) {
  const Result<net::PrivateSocket> silent = net::PrivateSocket::Open(
      net::PrivateBases(), net::UniqueSocketName("munge"), net::PrivateSocket::Kind::kListener);
  ASSERT_TRUE(silent);
  const AuthenticationFacts facts =
      LookAtAuthentication(silent->name.path(), false, Deadline::After(std::chrono::milliseconds(100)));
  EXPECT_TRUE(facts.munge_socket_present);
  ASSERT_FALSE(facts.munge);
  // If libmunge is not installed, that is reported instead.
  EXPECT_TRUE(facts.munge.error().code == Code::kDeadline ||
              facts.munge.error().code == Code::kAuthentication);
}

}  // namespace
}  // namespace muster::doctor

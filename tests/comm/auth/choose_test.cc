#include "comm/auth/choose.h"

#include <gtest/gtest.h>

namespace muster::auth {
namespace {

AuthFacts Facts(AuthMethod configured, bool socket, bool secret, bool several_nodes) {
  return {configured, socket, "/run/munge/munge.socket.2", secret, several_nodes};
}

void ExpectError(const AuthFacts& facts, std::string_view message, std::string_view hint) {
  const Result<AuthMethod> chosen = ChooseAuth(facts);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, Code::kAuthentication);
  EXPECT_EQ(chosen.error().message, message);
  EXPECT_EQ(chosen.error().hint, hint);
}

TEST(ChooseAuth, AutoTakesMungeThenSecretThenTheKernel) {
  for (const bool several : {false, true}) {
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kAuto, true, false, several)), AuthMethod::kMunge);
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kAuto, true, true, several)), AuthMethod::kMunge);
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kAuto, false, true, several)), AuthMethod::kSecret);
  }
  EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kAuto, false, false, false)), AuthMethod::kNone);
}

TEST(ChooseAuth, AutoAcrossNodesWithNothingIsAnError) {
  ExpectError(Facts(AuthMethod::kAuto, false, false, true),
              "the ranks may be on several nodes and cannot authenticate each other: this node has no munge "
              "socket at /run/munge/munge.socket.2 and no job secret is known",
              "export MUSTER_SECRET=$(muster secret) in the batch script, before srun; or start munged on "
              "every node; or, on a network you trust, set rendezvous.auth: none");
}

// A container with the node's socket and without the library.
TEST(ChooseAuth, MungeWithoutItsLibraryIsNone) {
  const auto without_library = [](AuthMethod configured, bool secret) {
    AuthFacts facts = Facts(configured, true, secret, true);
    facts.munge_library_problem = "cannot load libmunge.so.2: No such file or directory";
    return facts;
  };
  EXPECT_EQ(ChooseAuth(without_library(AuthMethod::kAuto, true)), AuthMethod::kSecret);
  ExpectError(
      without_library(AuthMethod::kAuto, false),
      "the ranks may be on several nodes and cannot authenticate each other: cannot load "
      "libmunge.so.2: No such file or directory and no job secret is known",
      "export MUSTER_SECRET=$(muster secret) in the batch script, before srun; or install libmunge2 on "
      "every node; for a container, in its image; or, on a network you trust, set rendezvous.auth: none");
  ExpectError(without_library(AuthMethod::kMunge, true),
              "rendezvous.auth is munge, but cannot load libmunge.so.2: No such file or directory",
              "install libmunge2 on every node; for a container, in its image");
}

TEST(ChooseAuth, WhatIsWrittenDownIsTakenOrRefusedNeverReplaced) {
  for (const bool several : {false, true}) {
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kMunge, true, true, several)), AuthMethod::kMunge);
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kSecret, true, true, several)), AuthMethod::kSecret);
    EXPECT_EQ(ChooseAuth(Facts(AuthMethod::kNone, true, true, several)), AuthMethod::kNone);
    ExpectError(Facts(AuthMethod::kMunge, false, true, several),
                "rendezvous.auth is munge, but this node has no munge socket at /run/munge/munge.socket.2",
                "start munged on this node, or bind-mount its socket's directory into the container");
    ExpectError(Facts(AuthMethod::kSecret, true, false, several),
                "rendezvous.auth is secret, but no job secret is known",
                "export MUSTER_SECRET=$(muster secret) in the batch script, before srun");
  }
}

}  // namespace
}  // namespace muster::auth

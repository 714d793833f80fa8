// Against a real munged and the real libmunge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>

#include "comm/auth/munge.h"
#include "comm/base/unique_fd.h"
#include "tests/comm/auth/munged.h"

namespace muster::auth {
namespace {

constexpr uid_t kNoOwner = 65534;

class MungeDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<MungeApi> api = LoadMunge();
    ASSERT_TRUE(api) << ToString(api.error());
    Result<std::unique_ptr<Munged>> started = Munged::Start();
    ASSERT_TRUE(started) << ToString(started.error());
    munged = *std::move(started);
    munge = std::make_unique<Munge>(*api, munged->socket());
  }

  std::unique_ptr<Munged> munged;
  std::unique_ptr<Munge> munge;
};

TEST_F(MungeDaemonTest, CredentialReadsBack) {
  EXPECT_TRUE(MungeSocketPresent(munged->socket()));
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), geteuid());
  ASSERT_TRUE(credential) << ToString(credential.error());
  const Result<MungeCredential> decoded = munge->Decode(*credential);
  ASSERT_TRUE(decoded) << ToString(decoded.error());
  EXPECT_EQ(AsText(decoded->payload), "payload");
  EXPECT_EQ(decoded->uid, geteuid());
  EXPECT_EQ(decoded->gid, getegid());
  EXPECT_EQ(decoded->only_for, geteuid());
}

TEST_F(MungeDaemonTest, CredentialForAllIsSeenAsSuch) {
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), static_cast<uid_t>(MUNGE_UID_ANY));
  ASSERT_TRUE(credential) << ToString(credential.error());
  const Result<MungeCredential> decoded = munge->Decode(*credential);
  ASSERT_TRUE(decoded) << ToString(decoded.error());
  EXPECT_EQ(decoded->only_for, std::nullopt);
}

TEST_F(MungeDaemonTest, SecondUseIsAReplay) {
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), geteuid());
  ASSERT_TRUE(credential && munge->Decode(*credential));
  const Result<MungeCredential> again = munge->Decode(*credential);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "its munge credential has been used before on this node");
}

TEST_F(MungeDaemonTest, CredentialForAnotherUserIsNotRead) {
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), geteuid() + 1);
  ASSERT_TRUE(credential);
  const Result<MungeCredential> decoded = munge->Decode(*credential);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "its munge credential is for another user to read");
}

TEST_F(MungeDaemonTest, AnotherKeyIsNamed) {
  Result<std::unique_ptr<Munged>> other = Munged::Start();
  ASSERT_TRUE(other) << ToString(other.error());
  const Result<Bytes> credential =
      Munge(*LoadMunge(), (*other)->socket()).Encode(AsBytes("payload"), geteuid());
  ASSERT_TRUE(credential);
  const Result<MungeCredential> decoded = munge->Decode(*credential);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "its munge credential is forged or from a node with another munge key");
}

TEST_F(MungeDaemonTest, NoChangedCredentialSaysSomethingElse) {
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), geteuid());
  ASSERT_TRUE(credential);
  int refused = 0;
  for (size_t at = 0; at < credential->size(); ++at) {
    Bytes changed = *credential;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    const Result<MungeCredential> decoded = munge->Decode(changed);
    // Base64 has bits that mean nothing at its end; such a change is none.
    if (!decoded) {
      ++refused;
    } else {
      EXPECT_EQ(AsText(decoded->payload), "payload");
    }
  }
  EXPECT_GE(refused, static_cast<int>(credential->size()) - 4);
}

TEST_F(MungeDaemonTest, AnotherUsersCredentialCarriesItsUid) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can act as two users; munge_prover_test.cc has the same with a fake";
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNoOwner) != 0 || setuid(kNoOwner) != 0) _exit(1);
    const Result<Bytes> credential = munge->Encode(AsBytes("payload"), 0);
    if (!credential) _exit(2);
    _exit(write(write_end.get(), credential->data(), credential->size()) ==
                  static_cast<ssize_t>(credential->size())
              ? 0
              : 3);
  }
  write_end.Reset();
  Bytes credential(4096);
  const ssize_t length = read(read_end.get(), credential.data(), credential.size());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  credential.resize(static_cast<size_t>(length));
  const Result<MungeCredential> decoded = munge->Decode(credential);
  ASSERT_TRUE(decoded) << ToString(decoded.error());
  EXPECT_EQ(decoded->uid, kNoOwner);
  EXPECT_EQ(decoded->only_for, 0U);
}

TEST_F(MungeDaemonTest, AStoppedDaemonIsNamedWithItsSocket) {
  munged->Stop();
  EXPECT_FALSE(MungeSocketPresent(munged->socket()));
  const Result<Bytes> credential = munge->Encode(AsBytes("payload"), geteuid());
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().code, Code::kAuthentication);
  // The rest is the library's own text, which changes with its release.
  EXPECT_THAT(credential.error().message,
              testing::StartsWith(fmt::format(
                  "munged does not answer at {0}: Failed to access \"{0}\": No such file or directory",
                  munged->socket())));
  EXPECT_EQ(credential.error().hint,
            "start munged on this node, or set rendezvous.auth: secret on every rank");
}

TEST_F(MungeDaemonTest, ASocketThatNobodyListensOnIsNamed) {
  munged->Stop();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, munged->socket().c_str(), sizeof address.sun_path - 1);
  const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(MungeSocketPresent(munged->socket()));
  const Result<MungeCredential> decoded = munge->Decode(AsBytes("MUNGE:AAAA:"));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Code::kAuthentication);
  EXPECT_THAT(decoded.error().message,
              testing::StartsWith("munged does not answer at " + munged->socket() + ": "));
}

TEST(MungeSocketPresent, IsAboutSockets) {
  EXPECT_FALSE(MungeSocketPresent(""));
  EXPECT_FALSE(MungeSocketPresent("/nonexistent/socket"));
  EXPECT_FALSE(MungeSocketPresent("/"));
}

}  // namespace
}  // namespace muster::auth

#include "comm/rendezvous/discovery/endpoint_store_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "comm/rendezvous/link/authenticating_acceptor.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

// The test decides on its contents, and whether it works.
struct FakeKvs {
  void Set(Result<std::optional<std::string>> to) {
    const std::lock_guard lock(mutex);
    now = std::move(to);
  }
  std::mutex mutex;
  Result<std::optional<std::string>> now;
};

class FakeEndpointStore : public EndpointStore {
 public:
  explicit FakeEndpointStore(FakeKvs& kvs) : kvs_(kvs) {}
  Status Publish(std::string_view root_address, Deadline) override {
    kvs_.Set(std::string(root_address));
    return {};
  }
  Result<std::optional<std::string>> LookUp(Deadline) override {
    const std::lock_guard lock(kvs_.mutex);
    return kvs_.now;
  }
  std::string Describe() const override { return "the key-value store"; }

 private:
  FakeKvs& kvs_;
};

class EndpointStoreSearchTest : public testing::Test {
 protected:
  EndpointStoreSearchTest() {
    EXPECT_TRUE(listener.Open(*net::SocketAddress::FromNumeric("127.0.0.1", 0), {port}));
    search = std::make_unique<EndpointStoreSearch>(
        *loop, std::make_unique<FakeEndpointStore>(kvs),
        RootDialer::Params{meeting, seconds(10), seconds(10)},
        [this](const std::optional<auth::JobSecret>& found) -> Result<std::unique_ptr<auth::Prover>> {
          if (refuse_prover) return Fail(Code::kAuthentication, "nothing can be proven");
          return found ? auth::MakeSecretProver(*found) : auth::MakeNoneProver();
        },
        [this](std::unique_ptr<net::FrameStream> found) {
          link = std::move(found);
          link->Start([](ByteView) {}, [](const Error&) {});
          search.reset();
        },
        [this](const Error& error) {
          hopeless = error;
          search.reset();
        });
  }
  ~EndpointStoreSearchTest() override {
    search.reset();
    loop.Settle();
  }
  RootAddress At(uint16_t where, const auth::JobSecret& with) const {
    return {{*net::SocketAddress::FromNumeric("127.0.0.1", where)}, with};
  }

  FakeKvs kvs;
  net::TestLoop loop;
  const auth::MeetingId meeting = auth::MeetingIdOf("endpoint_store_search_test");
  const uint16_t port = net::FreePort();
  const auth::JobSecret secret = *auth::JobSecret::Generate();
  const std::unique_ptr<auth::Prover> prover = auth::MakeSecretProver(secret);
  bool refuse_prover = false;
  std::unique_ptr<net::FrameStream> accepted;
  std::unique_ptr<net::FrameStream> link;
  std::optional<Error> hopeless;
  AuthenticatingAcceptor listener{*loop,
                                  {meeting, seconds(10)},
                                  *prover,
                                  [this](std::unique_ptr<net::FrameStream> from, const net::SocketAddress&) {
                                    accepted = std::move(from);
                                    accepted->Start([](ByteView) {}, [](const Error&) {});
                                  }};
  std::unique_ptr<EndpointStoreSearch> search;
};

TEST_F(EndpointStoreSearchTest, WaitsForANoticeAndFollowsIt) {
  ASSERT_TRUE(loop.Until(
      [&] { return search->Problem() == "the key-value store has not published its address yet"; }));
  kvs.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(EndpointStoreSearchTest, ANewerNoticeReplacesThatOfARootThatIsGone) {
  const uint16_t nobody = net::FreePort();
  kvs.Set(Encode(At(nobody, *auth::JobSecret::Generate())));
  ASSERT_TRUE(loop.Until(
      [&] { return search->Problem() == fmt::format("127.0.0.1:{}: Connection refused", nobody); }));
  kvs.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(EndpointStoreSearchTest, AnotherSecretIsTheOldOnes) {
  kvs.Set(Encode(At(port, *auth::JobSecret::Generate())));
  ASSERT_TRUE(loop.Until([&] { return search->rejection() || !search->Problem().empty(); }));
  EXPECT_FALSE(link);
  kvs.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(EndpointStoreSearchTest, SaysWhatIsWrongWithTheNotice) {
  kvs.Set("5");
  ASSERT_TRUE(loop.Until([&] {
    return search->Problem() ==
           "the key-value store: the root address found there is not of this release of muster: it "
           "does not begin as "
           "one";
  }));
  EXPECT_FALSE(hopeless);
}

TEST_F(EndpointStoreSearchTest, GoesOnWhereTheStoreFails) {
  kvs.Set(Fail(Code::kSystem, "it broke"));
  ASSERT_TRUE(loop.Until([&] { return search->Problem() == "it broke"; }));
  EXPECT_FALSE(search->rejection());
  kvs.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return link && accepted; }));
}

TEST_F(EndpointStoreSearchTest, EndsWhereTryingAgainIsOfNoUse) {
  kvs.Set(Fail(Code::kConfiguration, "it never works"));
  ASSERT_TRUE(loop.Until([&] { return hopeless.has_value(); }));
  EXPECT_EQ(hopeless->message, "it never works");
}

TEST_F(EndpointStoreSearchTest, EndsWhereNothingCanBeProven) {
  refuse_prover = true;
  kvs.Set(Encode(At(port, secret)));
  ASSERT_TRUE(loop.Until([&] { return hopeless.has_value(); }));
  EXPECT_EQ(hopeless->message, "nothing can be proven");
}

}  // namespace
}  // namespace muster::rendezvous

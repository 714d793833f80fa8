#include "comm/rendezvous/discovery/root_announcer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "comm/rendezvous/discovery/file_endpoint_store.h"
#include "comm/rendezvous/discovery/torch_endpoint_store.h"
#include "comm/rendezvous/tcp_store/server_thread.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

class RootAnnouncerTest : public testing::Test {
 protected:
  std::unique_ptr<EndpointStore> LauncherKvs() const {
    return std::make_unique<TorchEndpointStore>(Endpoint{"127.0.0.1", port}, "key");
  }
  void Serve() {
    server = *tcp_store::ServerThread::Start(
        *net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port)), {});
  }
  void Announce(Duration patience) {
    announcer = std::make_unique<RootAnnouncer>(*loop, LauncherKvs(), patience,
                                                [this](const Error& error) { hopeless = error; });
    announcer->Announce(root_address);
  }
  bool IsUp() const {
    const auto found = LauncherKvs()->LookUp(Deadline::After(std::chrono::seconds(10)));
    return found && *found == Encode(root_address);
  }

  const LogCapture log;
  net::TestLoop loop;
  const uint16_t port = net::FreePort();
  const RootAddress root_address{{*net::SocketAddress::FromNumeric("10.1.2.3", 61000)}, std::nullopt};
  std::unique_ptr<tcp_store::ServerThread> server;
  std::optional<Error> hopeless;
  std::unique_ptr<RootAnnouncer> announcer;
};

TEST_F(RootAnnouncerTest, PutsTheNoticeUp) {
  Serve();
  Announce(std::chrono::seconds(10));
  ASSERT_TRUE(loop.Until([&] { return IsUp(); }));
  EXPECT_EQ(announcer->Problem(), "");
}

TEST_F(RootAnnouncerTest, TriesAgainUntilItIsUp) {
  Announce(std::chrono::seconds(10));
  const std::string refused =
      fmt::format("cannot connect to the store at 127.0.0.1:{}: Connection refused", port);
  ASSERT_TRUE(loop.Until([&] { return announcer->Problem() == refused; }));
  Serve();
  ASSERT_TRUE(loop.Until([&] { return announcer->Problem().empty(); }));
  EXPECT_TRUE(IsUp());
  EXPECT_FALSE(hopeless);
}

TEST_F(RootAnnouncerTest, SaysWhereTryingAgainIsOfNoUse) {
  const auto silent = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port));
  Announce(std::chrono::milliseconds(20));
  ASSERT_TRUE(loop.Until([&] { return hopeless.has_value(); }));
  EXPECT_EQ(hopeless->code, Code::kConfiguration);
}

TEST_F(RootAnnouncerTest, TakesAFileDownAgain) {
  std::string directory = testing::TempDir() + "muster-announcer-XXXXXX";
  ASSERT_TRUE(mkdtemp(directory.data()));
  FileEndpointStore kvs(directory, "root");
  const auto up = [&] { return *kvs.LookUp(Deadline::After(std::chrono::seconds(10))); };
  announcer = std::make_unique<RootAnnouncer>(*loop, std::make_unique<FileEndpointStore>(directory, "root"),
                                              std::chrono::seconds(10), [](const Error&) {});
  announcer->Announce(root_address);
  ASSERT_TRUE(loop.Until([&] { return up().has_value(); }));
  EXPECT_EQ(*up(), Encode(root_address));
  announcer->Withdraw();
  announcer.reset();
  EXPECT_FALSE(up());
  std::filesystem::remove_all(directory);
}

TEST_F(RootAnnouncerTest, DestroyedItIsForgotten) {
  const auto silent = net::Listen(*net::SocketAddress::FromNumeric("127.0.0.1", port));
  Announce(std::chrono::milliseconds(20));
  announcer.reset();
  loop.For(std::chrono::milliseconds(100));
  EXPECT_FALSE(hopeless);
}

}  // namespace
}  // namespace muster::rendezvous

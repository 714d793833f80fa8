#include "comm/rendezvous/survey/status_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/net/frame_stream.h"
#include "comm/net/socket.h"
#include "tests/comm/base/log_capture.h"
#include "tests/comm/net/test_base.h"
#include "tests/comm/net/test_loop.h"

namespace muster::rendezvous {
namespace {

// A few lines, then the number of the others.
TEST(StatusServer, RefusedRequestsAreAFewLines) {
  constexpr int kRequests = 50;
  net::TestLoop loop;
  const net::TestBase base;
  const LogCapture log;
  auto server = StatusServer::Open(*loop, getuid() + 1, 0, {base.path});
  ASSERT_TRUE(server) << server.error().message;
  const auto directories = net::PrivateDirectory::FindIn(base.path);
  ASSERT_EQ(directories.size(), 1U);
  const auto address = directories.front().AddressOf(directories.front().Sockets().at(0));
  ASSERT_TRUE(address);
  std::vector<std::unique_ptr<net::FrameStream>> requests;
  int closed = 0;
  for (int i = 0; i < kRequests; ++i) {
    auto fd = net::StartConnect(*address);
    ASSERT_TRUE(fd);
    requests.push_back(std::make_unique<net::FrameStream>(*loop, *std::move(fd), 1000));
    requests.back()->Start([](ByteView) { ADD_FAILURE(); }, [&](const Error&) { ++closed; });
  }
  ASSERT_TRUE(loop.Until([&] { return closed == kRequests; }));
  server->reset();
  std::string expected;
  for (int i = 0; i < 5; ++i)
    expected += fmt::format("muster: warning: refused a status request of uid {}\n", getuid());
  EXPECT_EQ(
      log.Text(),
      expected +
          "muster: warning: rejected 45 more connections to the status socket (not logged one by one)\n");
}

}  // namespace
}  // namespace muster::rendezvous

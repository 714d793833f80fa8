// A folder of a test's own for private directories, in memory: some file systems take a millisecond for each.
#pragma once

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/net/private_directory.h"
#include "comm/net/socket.h"

namespace muster::net {

struct TestBase {
  // Short: a test's own folder is too long for the name of a socket.
  TestBase() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  TestBase(const TestBase&) = delete;
  TestBase& operator=(const TestBase&) = delete;
  ~TestBase() { std::filesystem::remove_all(path); }

  // The directory that has a socket of that name, bound or dead.
  std::optional<PrivateDirectory> Find(std::string_view socket) const {
    for (PrivateDirectory& directory : PrivateDirectory::FindIn(path)) {
      if (directory.Has(socket)) return std::move(directory);
    }
    return std::nullopt;
  }

  std::string path = "/dev/shm/muster-test-XXXXXX";
};

// Connections until the kernel refuses the next one: the queue of this process's listener at `path` is full. It has room
// for one from now on.
inline std::vector<UniqueFd> FillQueue(const std::string& path) {
  const std::string socket = path.substr(path.rfind('/'));
  for (int fd = 0; fd < 1024; ++fd) {
    if (LocalAddress(fd).path().find(socket) != std::string::npos) listen(fd, 0);
  }
  std::vector<UniqueFd> waiting;
  int error_number = 0;
  while (auto fd = StartConnect(*SocketAddress::Path(path), &error_number)) waiting.push_back(*std::move(fd));
  EXPECT_EQ(error_number, EAGAIN);
  EXPECT_EQ(waiting.size(), 1U);
  return waiting;
}

// A connection that the kernel has ended, with ECONNREFUSED for the next call.
inline UniqueFd SocketWithError() {
  SocketAddress address;
  {
    const auto listener = Listen(*SocketAddress::FromNumeric("127.0.0.1", 0));
    EXPECT_TRUE(listener);
    address = LocalAddress(listener->get());
  }
  auto fd = StartConnect(address);
  EXPECT_TRUE(fd);
  pollfd ended{fd->get(), POLLOUT, 0};
  EXPECT_EQ(poll(&ended, 1, 10000), 1);
  return *std::move(fd);
}

// How long a connection, or one that this listener accepts, stays open without a sign of its peer, in seconds.
inline int KeepAliveSeconds(int fd) {
  const auto option = [fd](int name) {
    int value = 0;
    socklen_t length = sizeof value;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, name, &value, &length), 0);
    return value;
  };
  return option(TCP_KEEPIDLE) + option(TCP_KEEPINTVL) * option(TCP_KEEPCNT);
}

}  // namespace muster::net

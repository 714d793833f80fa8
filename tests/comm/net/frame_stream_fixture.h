// A FrameStream whose peer is a bare socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/net/frame_stream.h"
#include "tests/comm/net/test_loop.h"

namespace muster::net {

inline Bytes Framed(std::string_view text) {
  Bytes bytes = {static_cast<uint8_t>(text.size()), static_cast<uint8_t>(text.size() >> 8), 0, 0};
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

class FrameStreamTest : public testing::Test {
 protected:
  FrameStreamTest() {
    auto [near, other] = SocketPair();
    stream = std::make_unique<FrameStream>(*loop, std::move(near), 100);
    far = std::move(other);
  }
  void Start() {
    stream->Start([this](ByteView frame) { frames.emplace_back(AsText(frame)); },
                  [this](const Error& reason) { closed = reason; });
  }
  void Write(ByteView bytes) {
    ASSERT_EQ(write(far.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string ReadAll() {
    const ssize_t count = read(far.get(), room.data(), room.size());
    return room.substr(0, count > 0 ? static_cast<size_t>(count) : 0);
  }

  // Instead of the system's default, which may be megabytes.
  void SendFewAtATime() {
    const int bytes = 4096;
    ASSERT_EQ(setsockopt(stream->fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  }

  std::string room = std::string(1 << 20, '\0');  // made once: a sanitizer takes milliseconds for it
  TestLoop loop;
  UniqueFd far;
  std::unique_ptr<FrameStream> stream;
  std::vector<std::string> frames;
  std::optional<Error> closed;
};

}  // namespace muster::net

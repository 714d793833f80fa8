// Bytes on a control connection, cut anywhere: exactly the frames that are whole and not too long come out,
// and a sealed stream gives out nothing that was not sealed with its key, in its order.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "comm/net/frame_stream.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

constexpr size_t kLongestFrame = 100;
// The bytes that a socket takes without a reader.
constexpr size_t kMostBytes = size_t{16} << 10;

auth::SecretKey KeyOf(uint8_t number) { return auth::DeriveKey({}, {ByteView(&number, 1)}); }

struct Expected {
  std::vector<Bytes> frames;
  bool too_long = false;
};

Expected Cut(ByteView bytes) {
  Expected expected;
  while (bytes.size() >= 4) {
    const size_t length = bytes[0] + 256U * bytes[1] + 65536U * bytes[2] + 16777216U * bytes[3];
    expected.too_long = length > kLongestFrame;
    if (expected.too_long || bytes.size() - 4 < length) break;
    expected.frames.emplace_back(bytes.begin() + 4, bytes.begin() + 4 + static_cast<ptrdiff_t>(length));
    bytes = bytes.subspan(4 + length);
  }
  return expected;
}

// A stream whose peer writes `bytes` in pieces and closes.
struct Received {
  std::vector<Bytes> frames;
  std::optional<Error> closed;
};

Received Receive(net::EventLoop& loop, ByteView bytes, size_t piece, bool sealed) {
  int fds[2] = {-1, -1};
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0, "a socket pair");
  UniqueFd far(fds[1]);
  Received received;
  net::FrameStream stream(loop, UniqueFd(fds[0]), kLongestFrame);
  if (sealed) stream.Seal(auth::Sealer(KeyOf(1)), auth::Opener(KeyOf(2), "peer"));
  stream.Start([&](ByteView frame) { received.frames.emplace_back(frame.begin(), frame.end()); },
               [&](const Error& reason) { received.closed = reason; });
  const auto settle = [&] {
    for (int round = 0; round < 2; ++round) loop.RunOnce(Deadline::After(Duration::zero()));
  };
  while (!bytes.empty() && !received.closed) {
    const size_t count = std::min(piece, bytes.size());
    if (write(far.get(), bytes.data(), count) != static_cast<ssize_t>(count)) break;
    bytes = bytes.subspan(count);
    settle();
  }
  far.Reset();
  settle();
  Require(received.closed.has_value() && !stream.open(), "the stream has ended");
  return received;
}

void FuzzOne(ByteView input) {
  const auto loop = net::EventLoop::Create();
  Require(loop.has_value(), "an event loop");
  ValueSource source(input);
  const size_t piece = 1 + size_t{source.Byte()} * 8;
  const ByteView bytes = source.Take(kMostBytes);
  const Expected expected = Cut(bytes);
  const Received plain = Receive(**loop, bytes, piece, false);
  Require(plain.frames == expected.frames, "{} frames of {}", plain.frames.size(), expected.frames.size());
  Require(!expected.too_long || plain.closed->code == Code::kAuthentication, "a long frame ends it");

  Require(Receive(**loop, bytes, piece, true).frames.empty(), "no frame opens without the key");

  // The same frames sealed, and then one that was sealed before.
  auth::Sealer sealer(KeyOf(2));
  Bytes wire;
  Bytes last;
  std::vector<Bytes> short_frames;
  for (const Bytes& frame : expected.frames) {
    if (frame.size() + auth::kSealOverhead > kLongestFrame) continue;
    short_frames.push_back(frame);
    last = sealer.Seal(frame);
    wire.insert(wire.end(), {static_cast<uint8_t>(last.size()), 0, 0, 0});
    wire.insert(wire.end(), last.begin(), last.end());
  }
  if (!last.empty()) wire.insert(wire.end(), {static_cast<uint8_t>(last.size()), 0, 0, 0});
  wire.insert(wire.end(), last.begin(), last.end());
  if (wire.size() > 2 * kMostBytes) return;
  const Received opened = Receive(**loop, wire, piece, true);
  Require(opened.frames == short_frames, "{} sealed frames of {}", opened.frames.size(), short_frames.size());
}

std::vector<Bytes> Seeds() {
  return {{0, 3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0, 1, 0, 0, 0, 'x'},
          {255, 2, 0, 0, 0, 'a', 'b', 100, 0, 0, 0},
          {1, 101, 0, 0, 0, 'x'},
          {9, 0xff, 0xff, 0xff, 0xff}};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz

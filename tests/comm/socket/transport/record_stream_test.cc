// A sealed Connection with an attacker in the middle: whatever is changed, left out, repeated, moved or cut,
// the receiver notices it before it takes anything for data.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <numeric>

#include "comm/socket/transport/connection.h"

namespace muster::socket {
namespace {

constexpr size_t kRecord = size_t{64} * 1024 + auth::kSealOverhead;
constexpr size_t kHeaderRecord = kFrameHeaderBytes + auth::kSealOverhead;

class RecordStreamTest : public testing::TestWithParam<auth::Cipher> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(auth::CryptoReady());
    if (GetParam() == auth::Cipher::kAes256Gcm && !auth::HasAesInstructions())
      GTEST_SKIP() << "this processor has no instructions for AES";
    Connect();
  }

  // Fresh ends that have agreed on keys, with the test between them.
  void Connect() {
    auth::DataKeys keys;
    keys.cipher = GetParam();
    auth::RandomBytes(keys.outgoing.mutable_view());
    auth::RandomBytes(keys.incoming.mutable_view());
    const auth::DataKeys mirrored = {keys.cipher, keys.incoming, keys.outgoing};
    sender_ = Half(keys, tap_);
    receiver_ = Half(mirrored, feed_);
  }
  static std::unique_ptr<Connection> Half(const auth::DataKeys& keys, UniqueFd& middle) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    middle.Reset(ends[1]);
    return std::make_unique<Connection>(ProvenLink{UniqueFd(ends[0]), keys});
  }

  static OutgoingMessage Message(uint64_t sequence, ByteView payload) {
    Frame frame;
    frame.call.sequence = sequence;
    frame.payload = payload.size();
    return {EncodeFrame(frame), payload, 0};
  }

  // All that the sender puts on the wire for these payloads.
  Bytes Wire(const std::vector<Bytes>& payloads) {
    Bytes wire;
    uint64_t sequence = 0;
    for (const Bytes& payload : payloads) {
      OutgoingMessage message = Message(++sequence, payload);
      Flow flow = Flow::kBlocked;
      while (flow != Flow::kDone) {
        flow = sender_->Send(message);
        EXPECT_TRUE(flow == Flow::kDone || flow == Flow::kBlocked);
        Drain(wire);
      }
    }
    return wire;
  }
  void Drain(Bytes& wire) {
    std::array<uint8_t, 65536> chunk{};
    for (ssize_t got = 0; (got = recv(tap_.get(), chunk.data(), chunk.size(), 0)) > 0;)
      wire.insert(wire.end(), chunk.begin(), chunk.begin() + got);
  }

  struct Read {
    Flow flow = Flow::kDone;
    std::vector<Bytes> payloads;  // whole ones
  };
  // The receiver's result of `wire`, which ends there.
  Read Receive(ByteView wire) {
    Read read;
    size_t fed = 0;
    for (;;) {
      const ssize_t sent = send(feed_.get(), wire.data() + fed, wire.size() - fed, MSG_NOSIGNAL);
      fed += sent > 0 ? static_cast<size_t>(sent) : 0;
      if (fed == wire.size()) shutdown(feed_.get(), SHUT_WR);
      if (ReadOne(read) || read.flow != Flow::kBlocked) {
        if (read.flow != Flow::kDone) return read;
      }
    }
  }
  bool ReadOne(Read& read) {
    if (!begun_) {
      read.flow = receiver_->ReadHeader();
      if (read.flow != Flow::kDone) return false;
      payload_.resize(receiver_->header().payload);
      begun_ = true;
      got_ = 0;
    }
    size_t got = 0;
    read.flow = receiver_->ReadPayload(std::span(payload_).subspan(got_), got);
    got_ += got;
    if (read.flow != Flow::kDone) return false;
    receiver_->FinishMessage();
    begun_ = false;
    read.payloads.push_back(payload_);
    return true;
  }

  static Bytes Pattern(size_t size) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), uint8_t{1});
    return bytes;
  }

  // `change` of an honest wire: what was read before it was noticed, and how that ended.
  Read After(const std::vector<Bytes>& payloads, const std::function<void(Bytes&)>& change) {
    Connect();
    begun_ = false;
    Bytes wire = Wire(payloads);
    change(wire);
    return Receive(wire);
  }

  std::unique_ptr<Connection> sender_;
  std::unique_ptr<Connection> receiver_;
  UniqueFd tap_;
  UniqueFd feed_;
  bool begun_ = false;
  Bytes payload_;
  size_t got_ = 0;
};

TEST_P(RecordStreamTest, CarriesMessagesOfEveryLength) {
  const std::vector<Bytes> payloads = {{},
                                       Pattern(1),
                                       Pattern(4000),
                                       Pattern(4096),
                                       Pattern(8192),
                                       Pattern(65535),
                                       Pattern(65536),
                                       Pattern(65537),
                                       Pattern(9),
                                       Pattern(400'000),
                                       Pattern(1 << 20),
                                       {}};
  const Read read = After(payloads, [](Bytes&) {});
  EXPECT_EQ(read.flow, Flow::kBroken) << "the end of the wire";
  EXPECT_EQ(read.payloads, payloads);
}

TEST_P(RecordStreamTest, ShowsNothingOfHeaderOrPayload) {
  const Bytes payload(100'000, 0x41);
  const Bytes wire = Wire({payload});
  EXPECT_EQ(wire.size(), kHeaderRecord + payload.size() + 2 * auth::kSealOverhead);
  EXPECT_EQ(AsText(wire).find("MUS1"), std::string_view::npos);
  EXPECT_EQ(AsText(wire).find("AAAA"), std::string_view::npos);
}

TEST_P(RecordStreamTest, AChangedByteAnywhereIsNoticed) {
  const std::vector<Bytes> payloads = {Pattern(70'000), Pattern(3)};
  const size_t second = kHeaderRecord + kRecord + (70'000 - 65'536) + auth::kSealOverhead;
  struct Place {
    size_t at;
    const char* what;
    size_t whole;  // messages before it
  };
  const Place places[] = {{0, "first of a header", 0},
                          {43, "last of a header: it says how much follows", 0},
                          {44, "first of a header's tag", 0},
                          {59, "last of a header's tag", 0},
                          {60, "first of the payload", 0},
                          {kHeaderRecord + 65'535, "last of a record", 0},
                          {kHeaderRecord + kRecord - 1, "last of a record's tag", 0},
                          {kHeaderRecord + kRecord, "first of the last record", 0},
                          {second - 1, "last of the last tag", 0},
                          {second, "the next header", 1},
                          {second + kHeaderRecord + 1, "the next payload", 1},
                          {second + kHeaderRecord + 3, "the next payload's tag", 1}};
  for (const Place& place : places) {
    for (const uint8_t bit : {uint8_t{1}, uint8_t{0x80}}) {
      const Read read = After(payloads, [&](Bytes& wire) { wire[place.at] ^= bit; });
      EXPECT_EQ(read.flow, Flow::kTampered) << place.what;
      EXPECT_EQ(read.payloads.size(), place.whole) << place.what;
    }
  }
}

TEST_P(RecordStreamTest, EveryByteOfAShortMessageCounts) {
  const std::vector<Bytes> payloads = {Pattern(5)};
  const size_t size = Wire(payloads).size();
  ASSERT_EQ(size, kHeaderRecord + 5 + auth::kSealOverhead);
  for (size_t at = 0; at < size; ++at) {
    const Read read = After(payloads, [&](Bytes& wire) { wire[at] ^= 4; });
    EXPECT_EQ(read.flow, Flow::kTampered) << at;
    EXPECT_TRUE(read.payloads.empty()) << at;
  }
}

TEST_P(RecordStreamTest, WhatIsLeftOutRepeatedOrMovedIsNoticed) {
  const std::vector<Bytes> payloads = {Pattern(200'000), Pattern(200'000)};
  const auto record = [](size_t index) { return static_cast<ptrdiff_t>(kHeaderRecord + index * kRecord); };
  const auto noticed = [&](const char* what, const std::function<void(Bytes&)>& change) {
    const Read read = After(payloads, change);
    EXPECT_EQ(read.flow, Flow::kTampered) << what;
    EXPECT_TRUE(read.payloads.empty()) << what;
  };
  noticed("a record left out",
          [&](Bytes& wire) { wire.erase(wire.begin() + record(1), wire.begin() + record(2)); });
  noticed("a record repeated", [&](Bytes& wire) {
    const Bytes again(wire.begin() + record(1), wire.begin() + record(2));
    wire.insert(wire.begin() + record(2), again.begin(), again.end());
  });
  noticed("two records swapped", [&](Bytes& wire) {
    std::swap_ranges(wire.begin() + record(0), wire.begin() + record(1), wire.begin() + record(1));
  });
  noticed("the header left out", [&](Bytes& wire) { wire.erase(wire.begin(), wire.begin() + 60); });
  noticed("the header twice", [&](Bytes& wire) {
    const Bytes header(wire.begin(), wire.begin() + 60);
    wire.insert(wire.begin(), header.begin(), header.end());
  });
  noticed("a byte left out", [&](Bytes& wire) { wire.erase(wire.begin() + 1000); });
  noticed("a byte put in", [&](Bytes& wire) { wire.insert(wire.begin() + 1000, uint8_t{0}); });
}

TEST_P(RecordStreamTest, AWholeMessageRepeatedOrLeftOutIsNoticed) {
  const std::vector<Bytes> payloads = {Pattern(10), Pattern(10), Pattern(10)};
  const ptrdiff_t one = kHeaderRecord + 10 + auth::kSealOverhead;
  Read read = After(payloads, [&](Bytes& wire) { wire.erase(wire.begin() + one, wire.begin() + 2 * one); });
  EXPECT_EQ(read.flow, Flow::kTampered);
  EXPECT_EQ(read.payloads.size(), 1U);
  read = After(payloads, [&](Bytes& wire) {
    const Bytes again(wire.begin(), wire.begin() + one);
    wire.insert(wire.begin() + one, again.begin(), again.end());
  });
  EXPECT_EQ(read.flow, Flow::kTampered);
  EXPECT_EQ(read.payloads.size(), 1U);
}

TEST_P(RecordStreamTest, ACutIsNoGoodbye) {
  const std::vector<Bytes> payloads = {Pattern(70'000)};
  const size_t size = Wire(payloads).size();
  for (const size_t length : {size_t{1}, size_t{59}, size_t{60}, kHeaderRecord + kRecord, size - 1}) {
    const Read read = After(payloads, [&](Bytes& wire) { wire.resize(length); });
    EXPECT_EQ(read.flow, Flow::kBroken) << length;
    EXPECT_TRUE(read.payloads.empty()) << length;
  }
  Connect();
  sender_->SendLeave(7);
  Bytes wire;
  Drain(wire);
  ASSERT_EQ(wire.size(), kHeaderRecord);
  EXPECT_EQ(send(feed_.get(), wire.data(), wire.size(), MSG_NOSIGNAL), static_cast<ssize_t>(wire.size()));
  EXPECT_TRUE(receiver_->HoldsLeave());
  EXPECT_EQ(receiver_->ReadHeader(), Flow::kDone);
  EXPECT_EQ(receiver_->header().kind, FrameKind::kLeave);
}

// Behind records of payload, whether they have been read ahead or not.
TEST_P(RecordStreamTest, AGoodbyeIsFoundBehindUnreadMessages) {
  const Bytes payload = Pattern(70'000);
  Bytes wire;
  for (int i = 0; i < 2; ++i) {
    OutgoingMessage message = Message(1, i == 0 ? ByteView() : ByteView(payload));
    EXPECT_EQ(sender_->Send(message), Flow::kDone);
    Drain(wire);
  }
  const size_t messages = wire.size();
  sender_->SendLeave(7);
  Drain(wire);
  const auto feed = [&](size_t begin, size_t end) {
    const ByteView part = ByteView(wire).subspan(begin, end - begin);
    EXPECT_EQ(send(feed_.get(), part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
  };
  feed(0, messages);
  EXPECT_FALSE(receiver_->HoldsLeave());
  feed(messages, wire.size() - 1);
  EXPECT_FALSE(receiver_->HoldsLeave());
  feed(wire.size() - 1, wire.size());
  EXPECT_TRUE(receiver_->HoldsLeave());
  EXPECT_EQ(receiver_->ReadHeader(), Flow::kDone) << "and reads 4 KiB ahead";
  receiver_->FinishMessage();
  EXPECT_TRUE(receiver_->HoldsLeave());
}

TEST_P(RecordStreamTest, AForgedGoodbyeIsNone) {
  Connection plain{[&] {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    tap_.Reset(ends[1]);
    return UniqueFd(ends[0]);
  }()};
  plain.SendLeave(7);
  Bytes wire;
  Drain(wire);
  wire.resize(kHeaderRecord);
  EXPECT_EQ(send(feed_.get(), wire.data(), wire.size(), MSG_NOSIGNAL), static_cast<ssize_t>(wire.size()));
  EXPECT_FALSE(receiver_->HoldsLeave());
  EXPECT_EQ(receiver_->ReadHeader(), Flow::kTampered);
}

TEST_P(RecordStreamTest, SaysNoGoodbyeInTheMiddleOfAMessage) {
  const Bytes payload(4 << 20);
  OutgoingMessage message = Message(1, payload);
  EXPECT_EQ(sender_->Send(message), Flow::kBlocked);
  Bytes wire;
  Drain(wire);
  sender_->SendLeave(7);
  Bytes more;
  Drain(more);
  EXPECT_TRUE(more.empty());
}

// A payload that is still arriving itself goes on in whole records, and waits for them without spinning.
TEST_P(RecordStreamTest, PassesOnWholeRecords) {
  const Bytes payload = Pattern(100'000);
  ArrivedBytes arrived = 0;
  OutgoingMessage message = Message(1, payload);
  message.follows = &arrived;
  EXPECT_EQ(sender_->Available(message), 0U);
  arrived = 65'535;
  EXPECT_EQ(sender_->Available(message), kFrameHeaderBytes);
  EXPECT_EQ(sender_->Send(message), Flow::kBlocked);
  EXPECT_EQ(message.sent, kFrameHeaderBytes);
  arrived = 65'536;
  EXPECT_EQ(sender_->Available(message), kFrameHeaderBytes + 65'536);
  EXPECT_EQ(sender_->Send(message), Flow::kBlocked);
  arrived = kAllArrived;
  EXPECT_EQ(sender_->Send(message), Flow::kDone);
  Bytes wire;
  Drain(wire);
  const Read read = Receive(wire);
  ASSERT_EQ(read.payloads.size(), 1U);
  EXPECT_EQ(read.payloads[0], payload);
}

TEST_P(RecordStreamTest, GivesARecordInSmallPieces) {
  const Bytes payload = Pattern(70'000);
  const Bytes wire = Wire({payload});
  size_t fed = 0;
  const auto feed = [&] {
    const ssize_t sent = send(feed_.get(), wire.data() + fed, wire.size() - fed, MSG_NOSIGNAL);
    fed += sent > 0 ? static_cast<size_t>(sent) : 0;
  };
  feed();
  ASSERT_EQ(receiver_->ReadHeader(), Flow::kDone);
  Bytes got;
  while (got.size() < payload.size()) {
    feed();
    std::array<uint8_t, 1000> piece{};
    size_t count = 0;
    const Flow flow = receiver_->ReadPayload(
        std::span(piece).first(std::min(piece.size(), payload.size() - got.size())), count);
    ASSERT_TRUE(flow == Flow::kDone || flow == Flow::kBlocked);
    got.insert(got.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(count));
  }
  EXPECT_EQ(got, payload);
}

INSTANTIATE_TEST_SUITE_P(Ciphers, RecordStreamTest,
                         testing::Values(auth::Cipher::kChaCha20Poly1305, auth::Cipher::kAes256Gcm),
                         [](const auto& cipher) {
                           return cipher.param == auth::Cipher::kAes256Gcm ? "Aes256Gcm" : "ChaCha20Poly1305";
                         });

}  // namespace
}  // namespace muster::socket

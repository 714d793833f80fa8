#include "comm/socket/probe/measure.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "comm/base/bytes.h"
#include "comm/base/unique_fd.h"
#include "comm/socket/probe/link_stream.h"

namespace muster::socket {
namespace {

struct Link {
  UniqueFd leader;
  UniqueFd other;
};

Link MakeLink() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

MeasureOptions Options(bool bandwidth) {
  MeasureOptions options;
  options.bandwidth = bandwidth;
  options.bytes = 1 << 20;
  options.patience = options.longest = std::chrono::minutes(1);
  options.peer_comes_by = Deadline::After(std::chrono::minutes(1));
  return options;
}

struct Both {
  Result<LinkFigures> leader = LinkFigures{};
  Result<LinkFigures> other = LinkFigures{};
};

Both MeasureBoth(const MeasureOptions& options) {
  const Link link = MakeLink();
  Both both;
  std::thread thread([&] { both.other = MeasureLink(link.other.get(), false, options); });
  both.leader = MeasureLink(link.leader.get(), true, options);
  thread.join();
  return both;
}

TEST(MeasureLink, GivesBothEndsTheSameFigures) {
  const Both both = MeasureBoth(Options(true));
  ASSERT_TRUE(both.leader && both.other);
  EXPECT_GT(both.leader->round_trip_ns, 0);
  EXPECT_GT(both.leader->out_bytes_per_s, 0U);
  EXPECT_GT(both.leader->in_bytes_per_s, 0U);
  EXPECT_EQ(both.other->round_trip_ns, both.leader->round_trip_ns);
  EXPECT_EQ(both.other->out_bytes_per_s, both.leader->in_bytes_per_s);
  EXPECT_EQ(both.other->in_bytes_per_s, both.leader->out_bytes_per_s);
  EXPECT_EQ(both.other->clock_ahead_ns, -both.leader->clock_ahead_ns);
}

// All that the other end answers lies there before the leader begins.
TEST(MeasureLink, SendsTheseBytes) {
  const Link link = MakeLink();
  Bytes answers = {'h'};
  answers.resize(1 + 20 * 16);
  ASSERT_EQ(write(link.other.get(), answers.data(), answers.size()), static_cast<ssize_t>(answers.size()));
  const Result<LinkFigures> figures = MeasureLink(link.leader.get(), true, Options(false));
  ASSERT_TRUE(figures);
  Bytes expected = {'h'};
  const auto add = [&](int64_t number) {
    for (int i = 0; i < 8; ++i) expected.push_back(static_cast<uint8_t>(number >> (8 * i)));
  };
  for (int64_t ping = 0; ping < 20; ++ping) {
    add(ping);
    add(0);
  }
  add(figures->round_trip_ns);
  add(-figures->clock_ahead_ns);
  Bytes sent(expected.size() + 1);
  sent.resize(static_cast<size_t>(read(link.other.get(), sent.data(), sent.size())));
  EXPECT_EQ(sent, expected);
}

TEST(MeasureLink, LeavesBandwidthOut) {
  const Both both = MeasureBoth(Options(false));
  ASSERT_TRUE(both.leader && both.other);
  EXPECT_GT(both.other->round_trip_ns, 0);
  EXPECT_EQ(both.leader->out_bytes_per_s, 0U);
  EXPECT_EQ(both.other->out_bytes_per_s, 0U);
}

TEST(MeasureLink, AConnectionCanBeMeasuredAgain) {
  const Link link = MakeLink();
  const MeasureOptions options = Options(true);
  for (int i = 0; i < 2; ++i) {
    std::thread thread([&] { EXPECT_TRUE(MeasureLink(link.other.get(), false, options)); });
    EXPECT_TRUE(MeasureLink(link.leader.get(), true, options));
    thread.join();
  }
}

TEST(MeasureLink, SaysThatThePeerIsGone) {
  Link link = MakeLink();
  link.other.Reset();
  const auto measured = MeasureLink(link.leader.get(), true, Options(true));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, Code::kPeerLost);
}

TEST(MeasureLink, SaysThatThePeerDidNotCome) {
  const Link link = MakeLink();
  MeasureOptions options = Options(true);
  options.peer_comes_by = Deadline::After(std::chrono::milliseconds(20));
  const auto measured = MeasureLink(link.leader.get(), true, options);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error(), (Error{Code::kDeadline, "it did not start the measurement", ""}));
}

TEST(MeasureLink, SaysThatDataDoesNotGetThrough) {
  const Link link = MakeLink();
  constexpr char kHere = 'h';
  ASSERT_EQ(write(link.other.get(), &kHere, 1), 1);
  MeasureOptions options = Options(true);
  options.patience = std::chrono::milliseconds(50);
  const auto measured = MeasureLink(link.leader.get(), true, options);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error(),
            (Error{Code::kDeadline, "it connects, but data does not get through within 50ms",
                   "check that every hop lets packets as large as the MTU pass"}));
}

TEST(MeasureLink, SaysThatItTakesTooLong) {
  const Link link = MakeLink();
  constexpr char kHere = 'h';
  ASSERT_EQ(write(link.other.get(), &kHere, 1), 1);
  MeasureOptions options = Options(true);
  options.longest = std::chrono::milliseconds(50);
  const auto measured = MeasureLink(link.leader.get(), true, options);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error(), (Error{Code::kDeadline, "its measurement did not end within 50ms", ""}));
}

// A slow link: after `enough` the leader waits for no single answer.
TEST(MeasureLink, EndsTheRoundTripsEarly) {
  const Link link = MakeLink();
  LinkStream other(link.other.get(), -1);
  other.set_deadline(Deadline::After(std::chrono::minutes(1)));
  MeasureOptions options = Options(false);
  options.enough = {};
  options.longest = std::chrono::seconds(10);
  Result<LinkFigures> figures;
  std::thread thread([&] { figures = MeasureLink(link.leader.get(), true, options); });
  Bytes first(1 + 16);
  Bytes rest(19 * 16);
  Bytes result(16);
  EXPECT_TRUE(other.Write(Bytes{'h'}) && other.Read(first) && other.Write(Bytes(16)));
  EXPECT_TRUE(other.Read(rest) && other.Write(Bytes(19 * 16)) && other.Read(result));
  thread.join();
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_GT(figures->round_trip_ns, 0);
}

TEST(LinkStream, EveryByteRenewsTheDeadline) {
  const Link link = MakeLink();
  LinkStream stream(link.leader.get(), -1);
  stream.set_patience(std::chrono::hours(1), Deadline::After(std::chrono::hours(2)));
  Deadline before = stream.deadline();
  ASSERT_TRUE(stream.Write(Bytes{'x'}));
  EXPECT_GT(stream.deadline().when(), before.when());
  before = stream.deadline();
  std::array<uint8_t, 1> byte{};
  EXPECT_EQ(stream.ReadSome(byte), size_t{0});
  EXPECT_EQ(stream.deadline(), before);
  ASSERT_EQ(write(link.other.get(), "x", 1), 1);
  EXPECT_EQ(stream.ReadSome(byte), size_t{1});
  EXPECT_GT(stream.deadline().when(), before.when());
}

TEST(LinkStream, ADeadlineIsNotRenewedBeyondTheLast) {
  const Link link = MakeLink();
  LinkStream stream(link.leader.get(), -1);
  const Deadline last = Deadline::After(std::chrono::hours(1));
  stream.set_patience(std::chrono::hours(2), last);
  ASSERT_TRUE(stream.Write(Bytes{'x'}));
  EXPECT_EQ(stream.deadline(), last);
}

TEST(MeasureLink, RefusesWhatIsNoMeasurement) {
  const Link link = MakeLink();
  ASSERT_EQ(write(link.other.get(), "GET / HTTP/1.1", 14), 14);
  const auto measured = MeasureLink(link.leader.get(), false, Options(true));
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error(), (Error{Code::kPeerLost, "unexpected data arrived in a measurement", ""}));
}

TEST(MeasureLink, StopsWhenTheGroupFails) {
  const Link link = MakeLink();
  const Link group = MakeLink();
  ASSERT_EQ(write(group.other.get(), "x", 1), 1);
  MeasureOptions options = Options(true);
  options.stop_fd = group.leader.get();
  const auto measured = MeasureLink(link.leader.get(), true, options);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error(), (Error{Code::kPeerLost, "the group has failed", ""}));
}

}  // namespace
}  // namespace muster::socket

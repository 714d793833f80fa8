#include "comm/socket/probe/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "comm/base/fields.h"
#include "comm/base/parse.h"
#include "comm/socket/probe/link_stream.h"

namespace muster::socket {
namespace {

constexpr int kPings = 20;
constexpr size_t kPingBytes = 16;
constexpr size_t kChunkBytes = 64 << 10;
constexpr uint64_t kFirstChunksAhead = 4;
constexpr uint64_t kMostChunksAhead = 32;
constexpr int kBursts = 3;
constexpr uint8_t kHere = 'h', kData = 'd', kEnd = 'e';

using Ping = std::array<uint8_t, kPingBytes>;

int64_t WallClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Status Expect(LinkStream& link, uint8_t wanted) {
  std::array<uint8_t, 1> got{};
  MUSTER_CHECK(link.Read(got));
  if (got[0] != wanted) return Fail(Code::kPeerLost, "unexpected data arrived in a measurement");
  return {};
}

Status Send(LinkStream& link, uint8_t kind) {
  const std::array<uint8_t, 1> byte = {kind};
  return link.Write(byte);
}

Status WriteTwo(LinkStream& link, int64_t first, int64_t second) {
  return link.Write(EncodeFields(first, second));
}

Result<std::array<int64_t, 2>> ReadTwo(LinkStream& link) {
  Ping bytes{};
  MUSTER_CHECK(link.Read(bytes));
  std::array<int64_t, 2> two{};
  FieldReader reader(bytes);
  reader(two[0], two[1]);
  return two;
}

// The clock is taken from the quickest round trip: it bounds the error.
Status LeadPings(LinkStream& link, const MeasureOptions& options, LinkFigures& figures) {
  const Deadline enough = Deadline::After(options.enough);
  std::vector<int64_t> round_trips;
  int i = 0;
  for (; i < kPings && (i == 0 || !enough.Expired()); ++i) {
    const auto began = Clock::now();
    const int64_t sent_at = WallClock();
    MUSTER_CHECK(WriteTwo(link, i, 0));
    MUSTER_TRY(const auto answer, ReadTwo(link));
    const int64_t took = Duration(Clock::now() - began).count();
    if (round_trips.empty() || took < *std::ranges::min_element(round_trips)) {
      figures.clock_ahead_ns = sent_at + took / 2 - answer[1];
    }
    round_trips.push_back(took);
  }
  // The other end answers all of them in any case.
  for (int rest = i; rest < kPings; ++rest) MUSTER_CHECK(WriteTwo(link, rest, 0));
  for (int rest = i; rest < kPings; ++rest) {
    MUSTER_TRY([[maybe_unused]] const auto answer, ReadTwo(link));
  }
  const auto middle = round_trips.begin() + i / 2;
  std::ranges::nth_element(round_trips, middle);
  figures.round_trip_ns = *middle;
  return WriteTwo(link, figures.round_trip_ns, -figures.clock_ahead_ns);
}

Status AnswerPings(LinkStream& link, LinkFigures& figures) {
  for (int i = 0; i < kPings; ++i) {
    MUSTER_TRY([[maybe_unused]] const auto ping, ReadTwo(link));
    MUSTER_CHECK(WriteTwo(link, i, WallClock()));
  }
  MUSTER_TRY(const auto result, ReadTwo(link));
  figures.round_trip_ns = result[0];
  figures.clock_ahead_ns = result[1];
  return {};
}

// One direction, at its sender.
class Stream {
 public:
  Stream(LinkStream& link, const MeasureOptions& options)
      : link_(link), options_(options), chunk_(kChunkBytes + 1, kData) {}

  Result<uint64_t> Run() {
    const Deadline enough = Deadline::After(options_.enough);
    uint64_t best = 0;
    for (int burst = 0; burst < kBursts && (burst == 0 || !enough.Expired()); ++burst) {
      MUSTER_TRY(const uint64_t rate, Burst());
      best = std::max(best, rate);
    }
    return best;
  }

 private:
  Result<uint64_t> Burst() {
    const auto began = Clock::now();
    const Deadline enough = Deadline::After(options_.time / kBursts);
    const uint64_t before = answered_;
    const uint64_t most = started_ + std::max<uint64_t>(options_.bytes / kChunkBytes / kBursts, 1);
    while (true) {
      if (at_ == chunk_.size() && started_ < most && MayStart() &&
          (!enough.Expired() || started_ == before)) {
        at_ = 0;
        ++started_;
      }
      const bool writing = at_ < chunk_.size();
      if (!writing && answered_ == started_) break;
      MUSTER_CHECK(link_.Wait(writing));
      MUSTER_CHECK(Move(writing));
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    return static_cast<uint64_t>(static_cast<double>((answered_ - before) * kChunkBytes) /
                                 std::max(seconds, 1e-9));
  }

  bool MayStart() const {
    return started_ - answered_ < std::clamp(answered_, kFirstChunksAhead, kMostChunksAhead);
  }

  Status Move(bool writing) {
    std::array<uint8_t, kMostChunksAhead> answers{};
    MUSTER_TRY(const size_t got, link_.ReadSome(answers));
    answered_ += got;
    if (answered_ > started_) return Fail(Code::kPeerLost, "unexpected data arrived in a measurement");
    if (writing) {
      MUSTER_TRY(const size_t sent, link_.WriteSome(ByteView(chunk_).subspan(at_)));
      at_ += sent;
    }
    return {};
  }

  LinkStream& link_;
  const MeasureOptions& options_;
  const Bytes chunk_;
  size_t at_ = kChunkBytes + 1;  // of the chunk on its way
  uint64_t started_ = 0;
  uint64_t answered_ = 0;
};

Status SendStream(LinkStream& link, const MeasureOptions& options, LinkFigures& figures) {
  MUSTER_TRY(figures.out_bytes_per_s, Stream(link, options).Run());
  return link.Write(EncodeFields(kEnd, figures.out_bytes_per_s));
}

Status ReceiveStream(LinkStream& link, LinkFigures& figures) {
  Bytes chunk(kChunkBytes);
  while (true) {
    std::array<uint8_t, 1> kind{};
    MUSTER_CHECK(link.Read(kind));
    if (kind[0] == kEnd) break;
    if (kind[0] != kData) return Fail(Code::kPeerLost, "unexpected data arrived in a measurement");
    MUSTER_CHECK(link.Read(chunk));
    MUSTER_CHECK(Send(link, kData));
  }
  std::array<uint8_t, sizeof(uint64_t)> rate{};
  MUSTER_CHECK(link.Read(rate));
  figures.in_bytes_per_s = WireReader(rate).U64();
  return {};
}

Status Measure(LinkStream& link, bool leader, const MeasureOptions& options, LinkFigures& figures) {
  MUSTER_CHECK(leader ? LeadPings(link, options, figures) : AnswerPings(link, figures));
  if (!options.bandwidth) return {};
  for (const bool sends : {leader, !leader}) {
    MUSTER_CHECK(sends ? SendStream(link, options, figures) : ReceiveStream(link, figures));
  }
  return {};
}

}  // namespace

Result<LinkFigures> MeasureLink(int fd, bool leader, const MeasureOptions& options) {
  LinkStream link(fd, options.stop_fd);
  link.set_deadline(options.peer_comes_by);
  MUSTER_CHECK(Send(link, kHere));
  if (Status here = Expect(link, kHere); !here) {
    if (here.error().code != Code::kDeadline) return tl::unexpected<Error>(std::move(here).error());
    return Fail(Code::kDeadline, "it did not start the measurement");
  }
  const Deadline last = Deadline::After(options.longest);
  link.set_patience(options.patience, last);
  LinkFigures figures;
  Status measured = Measure(link, leader, options, figures);
  if (measured) return figures;
  if (measured.error().code != Code::kDeadline) return tl::unexpected<Error>(std::move(measured).error());
  if (last.Expired()) {
    return Fail(Code::kDeadline, "its measurement did not end within {}", FormatDuration(options.longest));
  }
  return WithHint(Fail(Code::kDeadline, "it connects, but data does not get through within {}",
                       FormatDuration(options.patience)),
                  "check that every hop lets packets as large as the MTU pass");
}

}  // namespace muster::socket

#include "comm/socket/algorithms/team_collectives.h"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>

namespace muster::socket {
namespace {

// The largest power of two that fits into a team. Members beyond it are folded into an adjacent member: of
// the first 2 * extra members the even ones send their data to the odd ones and receive the result.
class Fold {
 public:
  explicit Fold(const Team& team) : team_(team) {
    core_ = static_cast<int>(std::bit_floor(static_cast<unsigned>(team.size())));
    extra_ = team.size() - core_;
    if (team.index >= 2 * extra_) index_ = team.index - extra_;
    if (team.index < 2 * extra_ && team.index % 2 == 1) index_ = team.index / 2;
  }

  int core() const { return core_; }
  int index() const { return index_; }  // within the core; -1: folded into the adjacent member
  int RankAt(int index) const { return team_.at(index < extra_ ? 2 * index + 1 : index + extra_); }

  Status In(ProgressEngine& engine, Reduction reduction, std::span<uint8_t> data) const {
    if (team_.index >= 2 * extra_) return {};
    if (index_ < 0) {
      engine.Send(team_.at(team_.index + 1), data);
    } else {
      engine.ReceiveCombined(team_.at(team_.index - 1), {reduction.type, reduction.operation, data.data(),
                                                         data.data(), data.size(), /*own_first=*/false});
    }
    return engine.Run();
  }

  Status Out(ProgressEngine& engine, std::span<uint8_t> data) const {
    if (team_.index >= 2 * extra_) return {};
    if (index_ < 0) {
      engine.Receive(team_.at(team_.index + 1), data);
    } else {
      engine.Send(team_.at(team_.index - 1), data);
    }
    return engine.Run();
  }

 private:
  const Team& team_;
  int core_ = 1;
  int extra_ = 0;
  int index_ = -1;
};

// A run of elements.
struct Range {
  size_t begin = 0;
  size_t end = 0;

  size_t Middle() const { return begin + (end - begin) / 2; }
};

std::span<uint8_t> BytesOf(std::span<uint8_t> data, Range range, size_t element) {
  return data.subspan(range.begin * element, (range.end - range.begin) * element);
}

// Recursive halving: at each step this rank keeps one half of its range and sends the other; `kept` stores
// the ranges for the later gather.
Status HalveAndReduce(ProgressEngine& engine, const Fold& fold, Reduction reduction, std::span<uint8_t> data,
                      std::vector<Range>& kept) {
  const size_t element = SizeOf(reduction.type);
  kept.push_back({0, data.size() / element});
  for (int mask = fold.core() / 2; mask > 0; mask /= 2) {
    const Range range = kept.back();
    const bool lower = (fold.index() & mask) == 0;
    const Range keep = lower ? Range{range.begin, range.Middle()} : Range{range.Middle(), range.end};
    const Range give = lower ? Range{range.Middle(), range.end} : Range{range.begin, range.Middle()};
    const int partner = fold.RankAt(fold.index() ^ mask);
    const std::span<uint8_t> own = BytesOf(data, keep, element);
    engine.Send(partner, BytesOf(data, give, element));
    engine.ReceiveCombined(partner,
                           {reduction.type, reduction.operation, own.data(), own.data(), own.size(), lower});
    MUSTER_CHECK(engine.Run());
    kept.push_back(keep);
  }
  return {};
}

Status DoubleAndGather(ProgressEngine& engine, const Fold& fold, size_t element, std::span<uint8_t> data,
                       std::vector<Range>& kept) {
  for (int mask = 1; mask < fold.core(); mask *= 2) {
    const Range have = kept.back();
    kept.pop_back();
    const Range whole = kept.back();
    const bool lower = (fold.index() & mask) == 0;
    const Range missing = lower ? Range{have.end, whole.end} : Range{whole.begin, have.begin};
    const int partner = fold.RankAt(fold.index() ^ mask);
    engine.Send(partner, BytesOf(data, have, element));
    engine.Receive(partner, BytesOf(data, missing, element));
    MUSTER_CHECK(engine.Run());
  }
  return {};
}

// `count` elements in `parts` nearly equal parts.
Range PartOf(size_t count, int parts, int part) {
  const size_t n = static_cast<size_t>(parts);
  const size_t i = static_cast<size_t>(part);
  const size_t base = count / n;
  const size_t longer = count % n;
  const size_t begin = i * base + std::min(i, longer);
  return {begin, begin + base + (i < longer ? 1 : 0)};
}

// The previous and next member on a ring, and the part that is due at each step.
struct Ring {
  explicit Ring(const Team& team) : size(team.size()), index(team.index) {
    next = team.at((index + 1) % size);
    previous = team.at((index + size - 1) % size);
  }
  int Back(int steps) const { return ((index - steps) % size + size) % size; }

  int size;
  int index;
  int next;
  int previous;
};

}  // namespace

Status RecursiveDoublingAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction,
                                  std::span<uint8_t> data) {
  const Fold fold(team);
  MUSTER_CHECK(fold.In(engine, reduction, data));
  if (fold.index() >= 0) {
    const auto spare = std::make_unique_for_overwrite<uint8_t[]>(data.size());
    uint8_t* now = data.data();
    uint8_t* next = spare.get();
    for (int mask = 1; mask < fold.core(); mask *= 2) {
      const int partner = fold.RankAt(fold.index() ^ mask);
      const bool lower = (fold.index() & mask) == 0;
      // Data being sent must not change: the result goes to the other buffer.
      engine.Send(partner, {now, data.size()});
      engine.ReceiveCombined(partner, {reduction.type, reduction.operation, now, next, data.size(), lower});
      MUSTER_CHECK(engine.Run());
      std::swap(now, next);
    }
    if (now != data.data() && !data.empty()) std::memcpy(data.data(), now, data.size());
  }
  return fold.Out(engine, data);
}

Status RabenseifnerAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction,
                             std::span<uint8_t> data) {
  const Fold fold(team);
  MUSTER_CHECK(fold.In(engine, reduction, data));
  if (fold.index() >= 0) {
    std::vector<Range> kept;
    MUSTER_CHECK(HalveAndReduce(engine, fold, reduction, data, kept));
    MUSTER_CHECK(DoubleAndGather(engine, fold, SizeOf(reduction.type), data, kept));
  }
  return fold.Out(engine, data);
}

Status RingAllReduce(ProgressEngine& engine, const Team& team, Reduction reduction, ByteView send,
                     std::span<uint8_t> receive) {
  const Ring ring(team);
  const size_t element = SizeOf(reduction.type);
  const size_t count = receive.size() / element;
  const auto part = [&](int index) { return PartOf(count, ring.size, index); };
  const auto received = [&](int index) { return BytesOf(receive, part(index), element); };
  // All steps in one round: each passes on the data that the step before receives, as it arrives. In the
  // second half the result of a part overwrites its partial result, which has been sent by then. The first
  // part sent is uncombined.
  const Range first = part(ring.Back(1));
  engine.Send(ring.next, send.subspan(first.begin * element, (first.end - first.begin) * element));
  const ArrivedBytes* arrival = nullptr;
  for (int step = 0; step + 1 < ring.size; ++step) {
    if (step > 0) engine.SendArriving(ring.next, received(ring.Back(step + 1)), arrival);
    const std::span<uint8_t> into = received(ring.Back(step + 2));
    arrival = engine.ReceiveCombined(
        ring.previous, {reduction.type, reduction.operation, send.data() + (into.data() - receive.data()),
                        into.data(), into.size(), /*own_first=*/false});
  }
  for (int step = 0; step + 1 < ring.size; ++step) {
    engine.SendArriving(ring.next, received(ring.Back(step)), arrival);
    arrival = engine.Receive(ring.previous, received(ring.Back(step + 1)));
  }
  return engine.Run();
}

Status RingReduceScatter(ProgressEngine& engine, const Team& team, Reduction reduction, ByteView send,
                         std::span<uint8_t> receive) {
  const Ring ring(team);
  const size_t block = receive.size();
  const auto spare = std::make_unique_for_overwrite<uint8_t[]>(2 * block);
  const auto sent = [&](int index) {
    return send.subspan(static_cast<size_t>(team.at(index)) * block, block);
  };
  ByteView outgoing = sent(ring.Back(1));
  for (int step = 0; step + 1 < ring.size; ++step) {
    const bool last = step + 2 == ring.size;
    uint8_t* into = last ? receive.data() : spare.get() + static_cast<size_t>(step % 2) * block;
    engine.Send(ring.next, outgoing);
    engine.ReceiveCombined(
        ring.previous, {reduction.type, reduction.operation, sent(ring.Back(step + 2)).data(), into, block,
                        /*own_first=*/false});
    MUSTER_CHECK(engine.Run());
    outgoing = {into, block};
  }
  return {};
}

Status RingAllGather(ProgressEngine& engine, const Team& team, std::span<uint8_t> all, size_t block) {
  const Ring ring(team);
  const auto part = [&](int index) {
    return all.subspan(static_cast<size_t>(team.at(index)) * block, block);
  };
  const ArrivedBytes* arrival = nullptr;
  for (int step = 0; step + 1 < ring.size; ++step) {
    engine.SendArriving(ring.next, part(ring.Back(step)), arrival);
    arrival = engine.Receive(ring.previous, part(ring.Back(step + 1)));
  }
  return engine.Run();
}

}  // namespace muster::socket

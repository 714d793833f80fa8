#include "bootstrap/check/findings/trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "comm/socket/reduce/elements.h"

namespace muster::check {
namespace {

// A buffer of small whole numbers in any element type. f16 and bf16 hold whole numbers up to 256 exactly.
class Elements {
 public:
  Elements(DataType type, size_t count) : type_(type), bytes_(count * SizeOf(type)) {}

  size_t count() const { return bytes_.size() / SizeOf(type_); }
  Buffer buffer() { return {bytes_.data(), count(), type_, Memory::kHost}; }
  void Set(size_t index, int64_t value) {
    socket::SetElement(type_, bytes_.data(), index, static_cast<double>(value));
  }
  double Get(size_t index) const { return socket::GetElement(type_, bytes_.data(), index); }

 private:
  const DataType type_;
  Bytes bytes_;
};

using Wanted = std::function<double(size_t)>;

std::string Compare(const Elements& got, const Wanted& wanted) {
  for (size_t i = 0; i < got.count(); ++i) {
    // Averages of 32 bits need not be exact.
    const double slack = std::fabs(wanted(i)) * 1e-6;
    if (!(std::fabs(got.Get(i) - wanted(i)) <= slack)) {
      return fmt::format("element {} is {}, not {}", i, got.Get(i), wanted(i));
    }
  }
  return {};
}

// Small numbers that every type holds exactly: element e is for ranks 15e to 15e+14, which put in 1 to 15,
// and all others 0. No sum is above 120, and each rank is in exactly one.
constexpr size_t kTeam = 15;

size_t Teams(size_t ranks) { return (ranks + kTeam - 1) / kTeam; }

Elements TeamNumbers(DataType type, size_t ranks, size_t rank) {
  Elements elements(type, Teams(ranks));
  elements.Set(rank / kTeam, static_cast<int64_t>(rank % kTeam + 1));
  return elements;
}

double Factorial(size_t number) {
  double product = 1;
  for (size_t factor = 2; factor <= number; ++factor) product *= static_cast<double>(factor);
  return product;
}

double TeamResult(ReduceOp operation, size_t ranks, size_t team) {
  const size_t members = std::min(kTeam, ranks - team * kTeam);
  const size_t whole = members * (members + 1) / 2;
  const auto sum = static_cast<double>(whole);
  const bool all_here = members == ranks;
  switch (operation) {
    case ReduceOp::kSum:
      return sum;
    case ReduceOp::kAvg:
      return sum / static_cast<double>(ranks);
    case ReduceOp::kMax:
      return static_cast<double>(members);
    case ReduceOp::kMin:
      return all_here ? 1 : 0;
    case ReduceOp::kProd:
      return all_here ? Factorial(members) : 0;
  }
  return 0;
}

size_t SizeOfGroup(const Communicator& group) { return static_cast<size_t>(group.size()); }
size_t RankIn(const Communicator& group) { return static_cast<size_t>(group.rank()); }

Result<std::string> SumOfRanks(Communicator& group) {
  const auto size = static_cast<int64_t>(group.size());
  Elements elements(DataType::kI64, 1);
  elements.Set(0, group.rank());
  MUSTER_CHECK(group.AllReduce(elements.buffer(), elements.buffer(), ReduceOp::kSum));
  const int64_t sum = size * (size - 1) / 2;
  return Compare(elements, [sum](size_t) { return static_cast<double>(sum); });
}

Trial AllReduceOf(DataType type, ReduceOp operation) {
  return {fmt::format("AllReduce {} {}", Name(operation), Name(type)),
          [=](Communicator& group) -> Result<std::string> {
            const size_t size = SizeOfGroup(group);
            Elements send = TeamNumbers(type, size, RankIn(group));
            Elements receive(type, send.count());
            MUSTER_CHECK(group.AllReduce(send.buffer(), receive.buffer(), operation));
            return Compare(receive, [&](size_t team) { return TeamResult(operation, size, team); });
          }};
}

// Long enough for the algorithms of long messages.
Result<std::string> LongAllReduce(Communicator& group) {
  constexpr size_t kElements = 16 << 10;
  const auto size = static_cast<double>(group.size());
  Elements elements(DataType::kF64, kElements);
  for (size_t i = 0; i < kElements; ++i) elements.Set(i, group.rank() + static_cast<int64_t>(i));
  MUSTER_CHECK(group.AllReduce(elements.buffer(), elements.buffer(), ReduceOp::kSum));
  return Compare(elements, [&](size_t i) { return size * (size - 1) / 2 + size * static_cast<double>(i); });
}

Result<std::string> TryReduce(Communicator& group) {
  const size_t size = SizeOfGroup(group);
  const int root = group.size() - 1;
  Elements send = TeamNumbers(DataType::kI32, size, RankIn(group));
  Elements receive(DataType::kI32, send.count());
  MUSTER_CHECK(group.Reduce(send.buffer(), receive.buffer(), ReduceOp::kSum, root));
  if (group.rank() != root) return std::string();
  return Compare(receive, [&](size_t team) { return TeamResult(ReduceOp::kSum, size, team); });
}

Result<std::string> TryReduceScatter(Communicator& group) {
  const size_t size = SizeOfGroup(group);
  Elements send(DataType::kI64, size);
  Elements receive(DataType::kI64, 1);
  for (size_t i = 0; i < size; ++i) send.Set(i, static_cast<int64_t>(RankIn(group) * (i + 1)));
  MUSTER_CHECK(group.ReduceScatter(send.buffer(), receive.buffer(), ReduceOp::kSum));
  const size_t sum = size * (size - 1) / 2;
  return Compare(receive, [&](size_t) { return static_cast<double>(sum * (RankIn(group) + 1)); });
}

Result<std::string> TryBroadcast(Communicator& group) {
  constexpr size_t kElements = 5;
  const int root = group.size() / 2;
  Elements elements(DataType::kI32, kElements);
  for (size_t i = 0; i < kElements; ++i) elements.Set(i, group.rank() * 10 + static_cast<int64_t>(i));
  MUSTER_CHECK(group.Broadcast(elements.buffer(), root));
  return Compare(elements, [&](size_t i) { return root * 10 + static_cast<double>(i); });
}

Result<std::string> TryGather(Communicator& group) {
  const int root = group.size() - 1;
  Elements send(DataType::kF32, 1);
  Elements receive(DataType::kF32, SizeOfGroup(group));
  send.Set(0, group.rank() + 1);
  MUSTER_CHECK(group.Gather(send.buffer(), receive.buffer(), root));
  if (group.rank() != root) return std::string();
  return Compare(receive, [](size_t i) { return static_cast<double>(i + 1); });
}

Result<std::string> TryAllGather(Communicator& group) {
  Elements send(DataType::kU64, 1);
  Elements receive(DataType::kU64, SizeOfGroup(group));
  send.Set(0, group.rank() + 1);
  MUSTER_CHECK(group.AllGather(send.buffer(), receive.buffer()));
  return Compare(receive, [](size_t i) { return static_cast<double>(i + 1); });
}

Result<std::string> TryScatter(Communicator& group) {
  const int root = group.size() / 2;
  Elements send(DataType::kI32, SizeOfGroup(group));
  Elements receive(DataType::kI32, 1);
  for (size_t i = 0; i < send.count(); ++i) send.Set(i, group.rank() * 7 + static_cast<int64_t>(i));
  MUSTER_CHECK(group.Scatter(send.buffer(), receive.buffer(), root));
  return Compare(receive, [&](size_t) { return root * 7 + static_cast<double>(group.rank()); });
}

Result<std::string> TryAllToAll(Communicator& group) {
  const size_t size = SizeOfGroup(group);
  Elements send(DataType::kI64, size);
  Elements receive(DataType::kI64, size);
  for (size_t i = 0; i < size; ++i) send.Set(i, static_cast<int64_t>(RankIn(group) * size + i));
  MUSTER_CHECK(group.AllToAll(send.buffer(), receive.buffer()));
  return Compare(receive, [&](size_t i) { return static_cast<double>(i * size + RankIn(group)); });
}

// Around the ring; Send waits for its Recv, so even ranks send first.
Result<std::string> TrySendRecv(Communicator& group) {
  const int size = group.size();
  if (size == 1) return std::string();
  Elements send(DataType::kI32, 3);
  Elements receive(DataType::kI32, 3);
  for (size_t i = 0; i < send.count(); ++i) send.Set(i, group.rank() * 10 + static_cast<int64_t>(i));
  const int before = (group.rank() + size - 1) % size;
  for (const bool sends : {group.rank() % 2 == 0, group.rank() % 2 != 0}) {
    MUSTER_CHECK(sends ? group.Send(send.buffer(), (group.rank() + 1) % size)
                       : group.Recv(receive.buffer(), before));
  }
  return Compare(receive, [&](size_t i) { return before * 10 + static_cast<double>(i); });
}

// Of another length on every rank.
std::string TextOf(int rank) {
  return std::string(static_cast<size_t>(rank % 3), '.') + std::to_string(rank);
}

std::string CompareTexts(const std::vector<Bytes>& got, int ranks) {
  if (got.size() != static_cast<size_t>(ranks)) return fmt::format("{} parts, not {}", got.size(), ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string_view text = AsText(got[static_cast<size_t>(rank)]);
    if (text != TextOf(rank)) return fmt::format("part {} is \"{}\", not \"{}\"", rank, text, TextOf(rank));
  }
  return {};
}

Result<std::string> TryGatherBytes(Communicator& group) {
  const int root = group.size() - 1;
  MUSTER_TRY(const auto got, group.GatherBytes(AsBytes(TextOf(group.rank())), root));
  return group.rank() == root ? CompareTexts(got, group.size()) : std::string();
}

Result<std::string> TryAllGatherBytes(Communicator& group) {
  MUSTER_TRY(const auto got, group.AllGatherBytes(AsBytes(TextOf(group.rank()))));
  return CompareTexts(got, group.size());
}

Result<std::string> TryBroadcastBytes(Communicator& group) {
  const int root = group.size() / 2;
  MUSTER_TRY(const Bytes got, group.BroadcastBytes(AsBytes(TextOf(group.rank())), root));
  if (AsText(got) == TextOf(root)) return std::string();
  return fmt::format("got \"{}\", not \"{}\"", AsText(got), TextOf(root));
}

Result<std::string> TryBarrier(Communicator& group) {
  MUSTER_CHECK(group.Barrier());
  return std::string();
}

// Even and odd ranks apart, in reverse order.
Result<std::string> TrySplit(Communicator& group) {
  const int colour = group.rank() % 2;
  MUSTER_TRY(const auto part, group.Split(colour, -group.rank()));
  const int members = (group.size() + 1 - colour) / 2;
  if (part->size() != members) return fmt::format("{} members, not {}", part->size(), members);
  Elements elements(DataType::kI64, 1);
  elements.Set(0, group.rank());
  MUSTER_CHECK(part->AllReduce(elements.buffer(), elements.buffer(), ReduceOp::kSum));
  return Compare(elements, [&](size_t) { return static_cast<double>(members * (members - 1 + colour)); });
}

}  // namespace

std::vector<Trial> AllTrials() {
  std::vector<Trial> trials = {{"sum of all ranks", SumOfRanks}};
  for (const DataType type : {DataType::kI8, DataType::kU8, DataType::kI32, DataType::kI64, DataType::kU64,
                              DataType::kF16, DataType::kBF16, DataType::kF32, DataType::kF64}) {
    trials.push_back(AllReduceOf(type, ReduceOp::kSum));
  }
  trials.push_back(AllReduceOf(DataType::kF64, ReduceOp::kProd));
  trials.push_back(AllReduceOf(DataType::kF32, ReduceOp::kMin));
  trials.push_back(AllReduceOf(DataType::kI32, ReduceOp::kMax));
  trials.push_back(AllReduceOf(DataType::kF32, ReduceOp::kAvg));
  const std::vector<Trial> others = {
      {"AllReduce sum f64, 128 KiB", LongAllReduce},
      {"Barrier", TryBarrier},
      {"Broadcast", TryBroadcast},
      {"Reduce", TryReduce},
      {"Gather", TryGather},
      {"AllGather", TryAllGather},
      {"Scatter", TryScatter},
      {"ReduceScatter", TryReduceScatter},
      {"AllToAll", TryAllToAll},
      {"Send and Recv", TrySendRecv},
      {"GatherBytes", TryGatherBytes},
      {"AllGatherBytes", TryAllGatherBytes},
      {"BroadcastBytes", TryBroadcastBytes},
      {"Split", TrySplit},
  };
  trials.insert(trials.end(), others.begin(), others.end());
  return trials;
}

Result<std::vector<WrongResult>> RunTrials(Communicator& communicator) {
  std::vector<WrongResult> wrong;
  int index = 0;
  for (const Trial& trial : AllTrials()) {
    Result<std::string> found = trial.run(communicator);
    if (!found) return tl::unexpected<Error>(std::move(found).error());
    if (!found->empty()) wrong.push_back({index, *std::move(found)});
    ++index;
  }
  return wrong;
}

}  // namespace muster::check

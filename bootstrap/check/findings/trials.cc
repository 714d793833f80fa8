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
  void Set(size_t index, double value) { socket::SetElement(type_, bytes_.data(), index, value); }
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

// One rank in a trial.
struct Place {
  double size;
  double rank;
  double root;
  ReduceOp reduce;
};

// Small numbers that every type holds exactly: element e is for ranks 15e to 15e+14, which put in 1 to 15,
// and all others 0. No sum is above 120, and each rank is in exactly one.
constexpr int kTeam = 15;

double TeamNumber(const Place& at, double team) {
  const double member = at.rank - team * kTeam;
  return member >= 0 && member < kTeam ? member + 1 : 0;
}

double Factorial(double number) { return number < 2 ? 1 : number * Factorial(number - 1); }

double TeamResult(const Place& at, double team) {
  const double members = std::min<double>(kTeam, at.size - team * kTeam);
  const bool all_here = members == at.size;
  switch (at.reduce) {
    case ReduceOp::kSum:
      return members * (members + 1) / 2;
    case ReduceOp::kAvg:
      return members * (members + 1) / 2 / at.size;
    case ReduceOp::kMax:
      return members;
    case ReduceOp::kMin:
      return all_here ? 1 : 0;
    case ReduceOp::kProd:
      return all_here ? Factorial(members) : 0;
  }
  return 0;
}

double SumOfRanks(const Place& at, double) { return at.size * (at.size - 1) / 2; }

// Instead of a number of elements: one for each rank, for each team.
constexpr int kRanks = -1;
constexpr int kTeams = -2;

size_t CountOf(int elements, int ranks) {
  if (elements == kTeams) return static_cast<size_t>((ranks + kTeam - 1) / kTeam);
  return static_cast<size_t>(elements == kRanks ? ranks : elements);
}

enum class Root { kNone, kMiddle, kLast };

// An operation on elements: `put` is element i of this rank before it, `wanted` after it.
struct ElementTrial {
  std::string name;
  Operation operation;
  DataType type;
  int send;  // 0: the elements to send are in the buffer that receives
  int receive;
  double (*put)(const Place&, double i);
  double (*wanted)(const Place&, double i);
  Root root = Root::kNone;
  ReduceOp reduce = ReduceOp::kSum;
};

Result<std::string> Try(const ElementTrial& trial, Communicator& group) {
  const int size = group.size();
  const int root = trial.root == Root::kMiddle ? size / 2 : trial.root == Root::kLast ? size - 1 : -1;
  const Place at{static_cast<double>(size), static_cast<double>(group.rank()), static_cast<double>(root),
                 trial.reduce};
  Elements receive(trial.type, CountOf(trial.receive, size));
  Elements apart(trial.type, CountOf(trial.send, size));
  Elements& send = trial.send == 0 ? receive : apart;
  for (size_t i = 0; i < send.count(); ++i) send.Set(i, trial.put(at, static_cast<double>(i)));
  MUSTER_CHECK(group.Perform({trial.operation, send.buffer(), receive.buffer(), trial.reduce, root}, {}));
  // A call with that root has its result there alone.
  if (trial.root == Root::kLast && group.rank() != root) return std::string();
  return Compare(receive, [&](size_t i) { return trial.wanted(at, static_cast<double>(i)); });
}

Trial Of(const ElementTrial& trial) {
  return {trial.name, [trial](Communicator& group) { return Try(trial, group); }};
}

// Around the ring; Send waits for its Recv, so even ranks send first.
Result<std::string> TrySendRecv(Communicator& group) {
  const int size = group.size();
  if (size == 1) return std::string();
  Elements send(DataType::kI32, 3);
  Elements receive(DataType::kI32, 3);
  for (size_t i = 0; i < send.count(); ++i) send.Set(i, group.rank() * 10 + static_cast<double>(i));
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
  using enum Operation;
  using enum DataType;
  using enum ReduceOp;
  using P = const Place&;
  std::vector<Trial> trials = {
      Of({"sum of all ranks", kAllReduce, kI64, 0, 1, [](P at, double) { return at.rank; }, SumOfRanks})};
  const auto add_all_reduce = [&trials](DataType type, ReduceOp reduce) {
    trials.push_back(Of({fmt::format("AllReduce {} {}", Name(reduce), Name(type)), kAllReduce, type, kTeams,
                         kTeams, TeamNumber, TeamResult, Root::kNone, reduce}));
  };
  for (const DataType type : {kI8, kU8, kI32, kI64, kU64, kF16, kBF16, kF32, kF64})
    add_all_reduce(type, kSum);
  add_all_reduce(kF64, kProd);
  add_all_reduce(kF32, kMin);
  add_all_reduce(kI32, kMax);
  add_all_reduce(kF32, kAvg);
  const std::vector<Trial> others = {
      // Long enough for the algorithms of long messages.
      Of({"AllReduce sum f64, 128 KiB", kAllReduce, kF64, 0, 16 << 10,
          [](P at, double i) { return at.rank + i; },
          [](P at, double i) { return SumOfRanks(at, i) + at.size * i; }}),
      {"Barrier", TryBarrier},
      Of({"Broadcast", kBroadcast, kI32, 0, 5, [](P at, double i) { return at.rank * 10 + i; },
          [](P at, double i) { return at.root * 10 + i; }, Root::kMiddle}),
      Of({"Reduce", kReduce, kI32, kTeams, kTeams, TeamNumber, TeamResult, Root::kLast}),
      Of({"Gather", kGather, kF32, 1, kRanks, [](P at, double) { return at.rank + 1; },
          [](P, double i) { return i + 1; }, Root::kLast}),
      Of({"AllGather", kAllGather, kU64, 1, kRanks, [](P at, double) { return at.rank + 1; },
          [](P, double i) { return i + 1; }}),
      Of({"Scatter", kScatter, kI32, kRanks, 1, [](P at, double i) { return at.rank * 7 + i; },
          [](P at, double) { return at.root * 7 + at.rank; }, Root::kMiddle}),
      Of({"ReduceScatter", kReduceScatter, kI64, kRanks, 1, [](P at, double i) { return at.rank * (i + 1); },
          [](P at, double i) { return SumOfRanks(at, i) * (at.rank + 1); }}),
      Of({"AllToAll", kAllToAll, kI64, kRanks, kRanks, [](P at, double i) { return at.rank * at.size + i; },
          [](P at, double i) { return i * at.size + at.rank; }}),
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

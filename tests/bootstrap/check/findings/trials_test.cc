#include "bootstrap/check/findings/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "tests/comm/socket/fake_group.h"

namespace muster::check {
namespace {

using testing::IsEmpty;

class Trials : public testing::TestWithParam<std::vector<int>> {};

TEST_P(Trials, AreAllRightInAHealthyGroup) {
  socket::FakeWorld world(GetParam());
  world.Run([](Communicator& communicator) {
    const auto wrong = RunTrials(communicator);
    ASSERT_TRUE(wrong) << wrong.error().message;
    EXPECT_THAT(*wrong, IsEmpty());
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, Trials,
                         testing::Values(socket::BlockLayout({2}), socket::BlockLayout({3}),
                                         socket::BlockLayout({3, 2}), socket::CyclicLayout(16, 4),
                                         socket::BlockLayout({9, 8})));

TEST(AllTrials, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Trial& trial : AllTrials()) EXPECT_TRUE(names.insert(trial.name).second) << trial.name;
  EXPECT_EQ(AllTrials().front().name, "sum of all ranks");
}

// Passes everything on to a real communicator, but is off by one wherever it reduces or moves something.
class Liar final : public Communicator {
 public:
  explicit Liar(Communicator& honest) : honest_(honest) {}
  int rank() const override { return honest_.rank(); }
  int size() const override { return honest_.size(); }
  const Roster& roster() const override { return honest_.roster(); }
  std::string_view backend() const override { return honest_.backend(); }

  Status Perform(const OperationRequest& request, const CallOptions& o) override {
    return Spoil(honest_.Perform(request, o), request.receive);
  }
  Result<std::vector<Bytes>> PerformBytes(Operation operation, ByteView m, int root,
                                          const CallOptions& o) override {
    return Spoil(honest_.PerformBytes(operation, m, root, o));
  }
  Result<std::unique_ptr<Communicator>> Split(int colour, int /*key*/, const CallOptions& o) override {
    return honest_.Split(colour / 2, 0, o);
  }

 private:
  // Another number in the last element, whatever its type.
  static Status Spoil(Status status, Buffer buffer) {
    if (status && buffer.bytes() > 0) static_cast<uint8_t*>(buffer.data)[buffer.bytes() - 1] ^= 1;
    return status;
  }
  static Result<std::vector<Bytes>> Spoil(Result<std::vector<Bytes>> got) {
    if (got && !got->empty()) got->back().push_back('x');
    return got;
  }

  Communicator& honest_;
};

TEST(RunTrials, FindsEveryWrongResult) {
  socket::FakeWorld world(socket::BlockLayout({2, 1}));
  std::mutex mutex;
  std::set<std::string> found;
  world.Run([&](Communicator& communicator) {
    Liar liar(communicator);
    const auto wrong = RunTrials(liar);
    ASSERT_TRUE(wrong) << wrong.error().message;
    const std::lock_guard lock(mutex);
    for (const WrongResult& one : *wrong) found.insert(AllTrials()[static_cast<size_t>(one.trial)].name);
  });
  // A barrier has no result.
  EXPECT_EQ(found.size(), AllTrials().size() - 1);
  EXPECT_FALSE(found.contains("Barrier"));
}

TEST(RunTrials, SaysWhatItGotAndWhatItWanted) {
  socket::FakeWorld world(socket::BlockLayout({3}));
  world.Run([&](Communicator& communicator) {
    Liar liar(communicator);
    const auto wrong = RunTrials(liar);
    ASSERT_TRUE(wrong && wrong->size() > 1);
    EXPECT_EQ((*wrong)[1].what, "element 0 is 7, not 6");
  });
}

}  // namespace
}  // namespace muster::check

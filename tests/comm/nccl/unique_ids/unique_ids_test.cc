#include "comm/nccl/unique_ids/unique_ids.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "tests/comm/base/print_error.h"
#include "tests/comm/nccl/computing_nccl.h"

namespace muster::nccl {
namespace {

// The place for the parts of one exchange's ranks.
class Table {
 public:
  explicit Table(size_t ranks) : parts_(ranks) {}

  std::vector<Bytes> Put(int rank, ByteView part) {
    std::unique_lock lock(mutex_);
    parts_[static_cast<size_t>(rank)].assign(part.begin(), part.end());
    ++there_;
    complete_.notify_all();
    complete_.wait(lock, [&] { return there_ == parts_.size(); });
    return parts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable complete_;
  std::vector<Bytes> parts_;
  size_t there_ = 0;
};

// A group that can exchange, and nothing more. `tamper` may change a rank's answer.
class ExchangingGroup final : public Group {
 public:
  using Tamper = std::function<void(int rank, Bytes& part)>;

  ExchangingGroup(const Roster& roster, Table& table, int rank, Tamper tamper)
      : roster_(roster), table_(table), rank_(rank), tamper_(std::move(tamper)) {}

  int rank() const override { return rank_; }
  const Roster& roster() const override { return roster_; }
  const GroupKey& key() const override { return key_; }
  Result<std::vector<Bytes>> KeyedAllGather(std::string_view name, ByteView mine, Deadline) override {
    EXPECT_EQ(name, "ids");
    Bytes part(mine.begin(), mine.end());
    if (tamper_) tamper_(rank_, part);
    return table_.Put(rank_, part);
  }
  int failure_fd() const override { return -1; }
  std::optional<Error> failure() const override { return std::nullopt; }
  void Fail(const Error&) override {}
  Status Leave(Deadline) override { return {}; }

 private:
  const Roster& roster_;
  Table& table_;
  const int rank_;
  const Tamper tamper_;
  const GroupKey key_ = {};
};

using Ids = Result<NcclTerms>;
using MakeNccl = std::function<std::unique_ptr<NcclApi>(int rank)>;

Deadline AMinute() { return Deadline::After(std::chrono::minutes(1)); }

std::unique_ptr<NcclApi> WithVersion(NcclVersion version) {
  auto nccl = std::make_unique<ComputingNccl>(std::make_shared<FakeFabric>());
  nccl->claimed = version;
  return nccl;
}
std::unique_ptr<NcclApi> Usual(int) { return WithVersion({2, 32, 3}); }

// The ids of each of these ranks, four on a node.
std::vector<Ids> ExchangeAmong(int ranks, const MakeNccl& make,
                               const ExchangingGroup::Tamper& tamper = nullptr,
                               const std::function<Deadline(int rank)>& deadline_of = nullptr) {
  Roster roster{"id", {}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % 4 == 0) roster.nodes.push_back({fmt::format("gpu{:02}", rank / 4 + 1), {}});
    roster.members.push_back({rank / 4, rank % 4, rank + 1, {}});
  }
  Table table(static_cast<size_t>(ranks));
  std::vector<Ids> got(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ExchangingGroup group(roster, table, rank, tamper);
      const std::unique_ptr<NcclApi> nccl = make(rank);
      got[static_cast<size_t>(rank)] =
          ExchangeNcclIds(group, *nccl, "ids", deadline_of ? deadline_of(rank) : AMinute());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return got;
}

void ExpectEverywhere(const std::vector<Ids>& got, const Error& error) {
  for (const Ids& ids : got) {
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error(), error);
  }
}

TEST(ExchangeNcclIds, OneForAFewRanks) {
  const std::vector<Ids> got = ExchangeAmong(6, Usual);
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids.size(), 1u);
    EXPECT_EQ(ids->ids, got.front()->ids);
  }
}

TEST(ExchangeNcclIds, SeveralForMany) {
  const std::vector<Ids> got = ExchangeAmong(260, Usual);
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids, got.front()->ids);
    EXPECT_EQ(std::set<NcclId>(ids->ids.begin(), ids->ids.end()).size(), 3u);
  }
}

TEST(ExchangeNcclIds, OneForManyWhereTheLibraryIsOlder) {
  const std::vector<Ids> got = ExchangeAmong(130, [](int) { return WithVersion({2, 20, 5}); });
  for (const Ids& ids : got) {
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(ids->ids.size(), 1u);
  }
}

TEST(ExchangeNcclIds, AllWaitAsLongAsTheRankWithTheLeastTimeLeft) {
  const Deadline soon = AMinute();
  const std::vector<Ids> got = ExchangeAmong(3, Usual, nullptr, [&](int rank) {
    if (rank == 2) return Deadline::Never();
    return rank == 1 ? soon : Deadline::After(std::chrono::hours(1));
  });
  EXPECT_LE(got[1]->deadline.when(), soon.when());
  for (const Ids& ids : got) EXPECT_LE(ids->deadline.when(), soon.when() + std::chrono::minutes(5));
}

TEST(ExchangeNcclIds, ForEverWhereNobodyHasADeadline) {
  for (const Ids& ids : ExchangeAmong(2, Usual, nullptr, [](int) { return Deadline::Never(); })) {
    EXPECT_TRUE(ids->deadline.IsNever());
  }
}

TEST(ExchangeNcclIds, DifferentVersionsAreNamedOnEveryRank) {
  const std::vector<Ids> got = ExchangeAmong(6, [](int rank) {
    return rank == 5 ? WithVersion({2, 28, 9}) : Usual(rank);
  });
  ExpectEverywhere(got,
                   {Code::kDisagreement, "rank 0 on gpu01 has NCCL 2.32.3, rank 5 on gpu02 has NCCL 2.28.9",
                    "install the same version on all nodes, or name its folder with NCCL_HOME"});
}

TEST(ExchangeNcclIds, WhoCannotDrawTellsAll) {
  const std::vector<Ids> got = ExchangeAmong(3, [](int rank) {
    const auto fabric = std::make_shared<FakeFabric>();
    if (rank == 0) fabric->draws_no_id[0] = "no socket interface found";
    return std::make_unique<ComputingNccl>(fabric);
  });
  ExpectEverywhere(got, {Code::kSystem,
                         "rank 0 on gpu01 could not draw an id of NCCL: unhandled system error: no socket "
                         "interface found",
                         ""});
}

TEST(ExchangeNcclIds, WhoSendsNonsenseIsNamed) {
  const std::vector<Ids> got = ExchangeAmong(3, Usual, [](int rank, Bytes& part) {
    if (rank == 2) part.pop_back();
  });
  ExpectEverywhere(got,
                   {Code::kDisagreement, "rank 2 on gpu01 sent a malformed NCCL id: it ends too early", ""});
}

TEST(ExchangeNcclIds, WhoDoesNotDrawIsNamed) {
  const std::vector<Ids> got = ExchangeAmong(3, Usual, [](int rank, Bytes& part) {
    if (rank == 0) part.assign({2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 0});
  });
  ExpectEverywhere(got, {Code::kSystem, "rank 0 on gpu01 could not draw an id of NCCL: it did not try", ""});
}

}  // namespace
}  // namespace muster::nccl

#include "comm/rendezvous/discovery/board_bulletin.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "comm/rendezvous/pmi/pmi_wire.h"
#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }

struct FakeBoard : Board {
  Status Publish(const std::string& name, const std::string& text, Deadline) override {
    texts[name] = text;
    return {};
  }
  Result<std::optional<std::string>> LookUp(const std::string& name, Deadline) override {
    const auto found = texts.find(name);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }
  void Leave() override {}
  std::string Describe() const override { return "the board"; }

  std::map<std::string, std::string> texts;
};

Notice NoticeOf(int addresses) {
  Notice notice{{}, *JobSecret::Parse(std::string(64, 'a'), "test")};
  for (int i = 0; i < addresses; ++i) {
    notice.addresses.push_back(*SocketAddress::FromNumeric(fmt::format("fd00::1:2:3:{:x}", i), 61000));
  }
  return notice;
}

TEST(BoardBulletin, ANoticeTravelsAsOneWord) {
  const auto board = std::make_shared<FakeBoard>();
  BoardBulletin bulletin(board, "muster/test/root");
  EXPECT_EQ(bulletin.Describe(), "the board");
  EXPECT_EQ(bulletin.LookUp(Soon()), Result<std::optional<std::string>>(std::nullopt));
  const std::string notice = Encode(NoticeOf(2));
  ASSERT_TRUE(bulletin.Publish(notice, Soon()));
  EXPECT_TRUE(FitsPmi(board->texts.at("muster/test/root")));
  EXPECT_EQ(bulletin.LookUp(Soon()), Result<std::optional<std::string>>(notice));
}

TEST(BoardBulletin, OfTooManyAddressesTheFirstAreKept) {
  BoardBulletin bulletin(std::make_shared<FakeBoard>(), "name");
  const Notice notice = NoticeOf(64);
  ASSERT_TRUE(bulletin.Publish(Encode(notice), Soon()));
  const auto text = bulletin.LookUp(Soon());
  EXPECT_LE((*text)->size(), 900U);
  const auto read = DecodeNotice(**text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->secret, notice.secret);
  ASSERT_GT(read->addresses.size(), 20U);
  for (size_t i = 0; i < read->addresses.size(); ++i) EXPECT_EQ(read->addresses[i], notice.addresses[i]);
}

}  // namespace
}  // namespace muster

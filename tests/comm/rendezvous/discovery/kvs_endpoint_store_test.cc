#include "comm/rendezvous/discovery/kvs_endpoint_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/comm/base/print_error.h"

namespace muster::rendezvous {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }

struct FakeKvs : LauncherKvs {
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
  std::string Describe() const override { return "the key-value store"; }

  std::map<std::string, std::string> texts;
};

RootAddress NoticeOf(int addresses) {
  RootAddress root_address{{}, *auth::JobSecret::Parse(std::string(64, 'a'), "test")};
  for (int i = 0; i < addresses; ++i) {
    root_address.addresses.push_back(
        *net::SocketAddress::FromNumeric(fmt::format("fd00::1:2:3:{:x}", i), 61000));
  }
  return root_address;
}

TEST(KvsEndpointStore, ANoticeTravelsAsOneWord) {
  const auto kvs = std::make_shared<FakeKvs>();
  KvsEndpointStore endpoint_store(kvs, "muster/test/root");
  EXPECT_EQ(endpoint_store.Describe(), "the key-value store");
  EXPECT_EQ(endpoint_store.LookUp(Soon()), Result<std::optional<std::string>>(std::nullopt));
  const std::string root_address = Encode(NoticeOf(2));
  ASSERT_TRUE(endpoint_store.Publish(root_address, Soon()));
  EXPECT_THAT(kvs->texts.at("muster/test/root"), testing::MatchesRegex("[!-:<>-~]+"));
  EXPECT_EQ(endpoint_store.LookUp(Soon()), Result<std::optional<std::string>>(root_address));
}

TEST(KvsEndpointStore, OfTooManyAddressesTheFirstAreKept) {
  KvsEndpointStore endpoint_store(std::make_shared<FakeKvs>(), "name");
  const RootAddress root_address = NoticeOf(64);
  ASSERT_TRUE(endpoint_store.Publish(Encode(root_address), Soon()));
  const auto text = endpoint_store.LookUp(Soon());
  EXPECT_LE((*text)->size(), 900U);
  const auto read = DecodeRootAddress(**text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->secret, root_address.secret);
  ASSERT_GT(read->addresses.size(), 20U);
  for (size_t i = 0; i < read->addresses.size(); ++i)
    EXPECT_EQ(read->addresses[i], root_address.addresses[i]);
}

}  // namespace
}  // namespace muster::rendezvous

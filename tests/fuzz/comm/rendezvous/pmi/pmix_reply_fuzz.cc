// A PMIx server's text under the root's name: a leader gets a root address, nothing, or a reason, and puts
// nothing up that the server would have to quote. (detect_fuzz.cc covers its answer about a rank's place.)
//
// The first byte is the kind of answer, the rest is the text.
#include <algorithm>

#include "comm/rendezvous/discovery/endpoint_store.h"
#include "comm/rendezvous/discovery/kvs_endpoint_store.h"
#include "comm/rendezvous/pmi/pmix_kvs.h"
#include "tests/comm/rendezvous/fake_pmix.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using rendezvous::testing_support::FakePmix;
using rendezvous::testing_support::Loads;

constexpr const char* kName = "muster/root";

// The answers come immediately: the deadline is for a hang, which is a fault here.
Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

void CheckNotice(const rendezvous::RootAddress& root_address, bool has_names) {
  const auto pmix = std::make_shared<FakePmix>(has_names);
  rendezvous::KvsEndpointStore endpoint_store(std::make_shared<rendezvous::PmixKvs>(Loads(pmix)), kName);
  Require(endpoint_store.Publish(Encode(root_address), Soon()).has_value(), "a root address is published");
  const std::string& text = (has_names ? pmix->published : pmix->said).at(kName);
  Require(text.size() <= 900 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; }),
          "\"{}\" needs no quotes", text);
  const auto found = endpoint_store.LookUp(Soon());
  Require(found && *found, "it is found");
  const Result<rendezvous::RootAddress> again = rendezvous::DecodeRootAddress(**found);
  Require(again && again->secret == root_address.secret && !again->addresses.empty(), "it is read back");
}

void One(ByteView input) {
  if (input.empty()) return;
  const bool has_names = (input[0] & 1) != 0;
  const bool there = (input[0] & 6) != 0;
  const auto pmix = std::make_shared<FakePmix>(has_names);
  if (there) (has_names ? pmix->published : pmix->said)[kName] = AsText(input.subspan(1));
  rendezvous::KvsEndpointStore endpoint_store(std::make_shared<rendezvous::PmixKvs>(Loads(pmix)), kName);
  const Result<std::optional<std::string>> found = endpoint_store.LookUp(Soon());
  Require(found.has_value() && found->has_value() == there, "what is there is found");
  if (!there) return;
  const Result<rendezvous::RootAddress> root_address = rendezvous::DecodeRootAddress(**found);
  if (root_address) return CheckNotice(*root_address, has_names);
  Require(root_address.error().code == Code::kDisagreement && !root_address.error().message.empty(),
          "it is said why");
}

std::vector<Bytes> Seeds() {
  return {
      ToBytes("0"), ToBytes("2muster-notice,1,-,10.1.2.3:61000"),
      ToBytes(
          "3muster-notice,1,0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef,[fd00::1]:61000,"
          "10.1.2.3:61001"),
      ToBytes("3not a notice")};
}

std::vector<std::string> Words() {
  return {"muster-notice,1,", "-,", ",[::1]:1", ",127.0.0.1:65535", "%lo", " ", ",", ";", "="};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

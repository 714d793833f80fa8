// What a PMIx server has under the root's name: a leader gets a notice, nothing, or a reason, and puts
// nothing up that the server would have to quote. (What it says of a rank's place is detect_fuzz.cc's.)
//
// The first byte says how the server answers, the rest is the text.
#include <algorithm>

#include "comm/rendezvous/discovery/board_bulletin.h"
#include "comm/rendezvous/discovery/bulletin.h"
#include "comm/rendezvous/pmi/pmix_board.h"
#include "tests/comm/rendezvous/fake_pmix.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using testing_support::FakePmix;
using testing_support::Loads;

constexpr const char* kName = "muster/root";

// The answers come at once: the deadline is for a hang, which is a fault here.
Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }

void CheckNotice(const Notice& notice, bool has_names) {
  const auto pmix = std::make_shared<FakePmix>(has_names);
  BoardBulletin bulletin(std::make_shared<PmixBoard>(Loads(pmix)), kName);
  Require(bulletin.Publish(Encode(notice), Soon()).has_value(), "a notice is put up");
  const std::string& text = (has_names ? pmix->published : pmix->said).at(kName);
  Require(text.size() <= 900 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; }),
          "\"{}\" needs no quotes", text);
  const auto found = bulletin.LookUp(Soon());
  Require(found && *found, "it is found");
  const Result<Notice> again = DecodeNotice(**found);
  Require(again && again->secret == notice.secret && !again->addresses.empty(), "it is read back");
}

void One(ByteView input) {
  if (input.empty()) return;
  const bool has_names = (input[0] & 1) != 0;
  const bool there = (input[0] & 6) != 0;
  const auto pmix = std::make_shared<FakePmix>(has_names);
  if (there) (has_names ? pmix->published : pmix->said)[kName] = AsText(input.subspan(1));
  BoardBulletin bulletin(std::make_shared<PmixBoard>(Loads(pmix)), kName);
  const Result<std::optional<std::string>> found = bulletin.LookUp(Soon());
  Require(found.has_value() && found->has_value() == there, "what is there is found");
  if (!there) return;
  const Result<Notice> notice = DecodeNotice(**found);
  if (notice) return CheckNotice(*notice, has_names);
  Require(notice.error().code == Code::kDisagreement && !notice.error().message.empty(), "it is said why");
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

// Bytes from a PMI server, or from any process at the other end of PMI_FD: cut into messages the same way in
// any pieces; a message is written out and read back as the same.
#include <algorithm>

#include "comm/rendezvous/pmi/pmi_wire.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

struct Taken {
  std::vector<rendezvous::PmiMessage> messages;
  std::string rest;
  bool refused = false;
};

// All that is whole.
void TakeAll(PmiVersion version, Taken& taken) {
  while (!taken.refused) {
    const size_t before = taken.rest.size();
    const auto message = rendezvous::TakePmi(version, taken.rest);
    if (!message) {
      Require(message.error().code == Code::kDisagreement && !message.error().message.empty(),
              "it is said why");
      taken.refused = true;
      return;
    }
    if (!*message) return;
    Require(taken.rest.size() < before, "a message is taken off");
    Require(!(*message)->command.empty(), "a message has a command");
    taken.messages.push_back(**message);
  }
}

// Printable, none of the protocols' own separators.
bool Fits(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < '\x7f' && c != '=' && c != ';'; };
  return !text.empty() && std::ranges::all_of(text, plain);
}

void RequireReadBack(PmiVersion version, const rendezvous::PmiMessage& message) {
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  bool fits = Fits(message.command);
  for (const auto& [name, value] : message.fields) {
    // Named like the command, it would be the command's own field.
    fits = fits && Fits(name) && Fits(value);
    fields.emplace_back(name, value);
  }
  if (!fits) return;
  std::string text = rendezvous::EncodePmi(version, message.command, fields);
  const auto again = rendezvous::TakePmi(version, text);
  Require(again && *again && **again == message && text.empty(), "{} is read back", message.command);
}

void One(ByteView input) {
  if (input.empty()) return;
  const PmiVersion version = input[0] % 2 == 0 ? PmiVersion::kOne : PmiVersion::kTwo;
  const std::string_view received = AsText(input.subspan(1));
  Taken whole;
  whole.rest = received;
  TakeAll(version, whole);
  for (const rendezvous::PmiMessage& message : whole.messages) RequireReadBack(version, message);
  Taken parts;
  const size_t cut = received.empty() ? 0 : input[0] % received.size();
  parts.rest = received.substr(0, cut);
  TakeAll(version, parts);
  parts.rest += received.substr(cut);
  TakeAll(version, parts);
  // A line that is too long may be noticed before its end, or with it.
  Require(whole.refused == parts.refused && whole.messages == parts.messages, "cut at {} it is the same",
          cut);
}

std::vector<Bytes> Seeds() {
  return {
      ToBytes("0cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=publish_result info=ok rc=0 "
              "msg=success\n"),
      ToBytes("2cmd=lookup_result port=muster-notice,1,-,10.1.2.3:61000 info=ok rc=0 msg=success\n"),
      ToBytes("136    cmd=name-lookup-response;rc=0;value=;")};
}

std::vector<std::string> Words() {
  return {"cmd=", "cmd=finalize_ack\n", " rc=0", ";rc=0;", "20    cmd=finalize;rc=0;xx", "999999", "=", "\n"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

#include "comm/rendezvous/pmi/pmi_wire.h"

#include <fmt/core.h>

#include "comm/base/parse.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kLengthDigits = 6;
constexpr size_t kMostFields = 64;

struct Separators {
  char between;
  char last;
};

Separators SeparatorsOf(PmiVersion version) {
  return version == PmiVersion::kOne ? Separators{' ', '\n'} : Separators{';', ';'};
}

tl::unexpected<Error> NoMessage(std::string_view problem) {
  return Fail(Code::kDisagreement, "what the PMI server sent is no PMI message: {}", problem);
}

// "cmd=NAME" and "FIELD=VALUE", in this order, without what ends the message.
Result<PmiMessage> Decode(std::string_view text, char between) {
  PmiMessage message;
  size_t count = 0;
  for (const std::string_view part : Split(text, between)) {
    if (part.empty()) continue;
    if (++count > kMostFields) return NoMessage("it has too many fields");
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return NoMessage("a field of it has no name or no value");
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (count > 1) {
      message.fields.emplace(name, value);
    } else if (name == "cmd" && !value.empty()) {
      message.command = value;
    } else {
      return NoMessage("it does not begin with a command");
    }
  }
  if (count == 0) return NoMessage("it is empty");
  return message;
}

// Begin and end of the first message, and the length to remove; absent: it is incomplete.
struct Span {
  size_t begin;
  size_t end;
  size_t taken;
};

Result<std::optional<Span>> FindLine(const std::string& received) {
  const size_t end = received.find('\n');
  if (end > kLongestPmiMessage && received.size() > kLongestPmiMessage)
    return NoMessage("its line does not end");
  if (end == std::string::npos) return std::nullopt;
  return Span{0, end, end + 1};
}

Result<std::optional<Span>> FindCounted(const std::string& received) {
  if (received.size() < kLengthDigits) return std::nullopt;
  const auto length = ParseInteger<size_t>(Trim(std::string_view(received).substr(0, kLengthDigits)));
  if (!length || *length == 0 || *length > kLongestPmiMessage) return NoMessage("its length is none");
  const size_t end = kLengthDigits + *length;
  if (received.size() < end) return std::nullopt;
  return Span{kLengthDigits, end, end};
}

}  // namespace

std::string_view PmiMessage::Get(std::string_view field) const {
  const auto found = fields.find(field);
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::string EncodePmi(PmiVersion version, std::string_view command,
                      const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
  const Separators separators = SeparatorsOf(version);
  std::string text = fmt::format("cmd={}", command);
  for (const auto& [name, value] : fields) text += fmt::format("{}{}={}", separators.between, name, value);
  text += separators.last;
  return version == PmiVersion::kOne ? text : fmt::format("{:<6}{}", text.size(), text);
}

Result<std::optional<PmiMessage>> TakePmi(PmiVersion version, std::string& received) {
  MUSTER_TRY(const auto span, version == PmiVersion::kOne ? FindLine(received) : FindCounted(received));
  if (!span) return std::nullopt;
  const std::string text = received.substr(span->begin, span->end - span->begin);
  received.erase(0, span->taken);
  MUSTER_TRY(PmiMessage message, Decode(text, SeparatorsOf(version).between));
  return message;
}

}  // namespace muster::rendezvous

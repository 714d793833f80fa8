// What lies in a shared directory under the name of a root's notice: only a whole file is read, and it is the
// one that was written; then its notice is judged as any other.
#include "comm/rendezvous/discovery/bulletin.h"
#include "comm/rendezvous/discovery/notice_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

void CheckParts(std::string_view whole) {
  for (size_t length = 0; length < whole.size(); length += 1 + length / 8) {
    Require(!DecodeNoticeFile(whole.substr(0, length)), "{} of {} bytes are not whole", length, whole.size());
  }
  Require(!DecodeNoticeFile(std::string(whole) + "\n"), "more than the whole is not the whole");
}

void One(ByteView input) {
  const std::string_view text = AsText(input);
  if (const auto notice = DecodeNoticeFile(text)) {
    Require(EncodeNoticeFile(*notice) == text, "\"{}\" is written as it was read", *notice);
    (void)DecodeNotice(*notice);
  }
  const std::string line(text.substr(0, text.find('\n')));
  const std::string written = EncodeNoticeFile(line);
  const auto read = DecodeNoticeFile(written);
  Require(read.has_value() == (written.size() <= kLongestNoticeFile), "{} bytes are read", written.size());
  Require(!read || *read == line, "\"{}\" is read back", line);
  if (read) CheckParts(written);
}

std::vector<Bytes> Seeds() {
  return {ToBytes(EncodeNoticeFile("muster-notice 1 - 10.1.2.3:61000")),
          ToBytes(EncodeNoticeFile(fmt::format("muster-notice 1 {} [fd00::1]:61000", kSecret))),
          ToBytes(EncodeNoticeFile("")), ToBytes("muster-notice 1 - 10.1.2.3:61000\n")};
}

std::vector<std::string> Words() {
  return {"muster-notice 1 ", "\n", "- ", std::string(kSecret), " [::1]:1"};
}

}  // namespace

FuzzTarget TheTarget() { return {One, Seeds, Words}; }

}  // namespace muster::fuzz

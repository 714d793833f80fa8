#include "comm/rendezvous/messages/versions.h"

#include <algorithm>

#include "comm/rendezvous/messages/frames.h"

namespace muster::rendezvous {
namespace {

constexpr size_t kLongestRelease = 100;

std::string Describe(const Speaker& speaker) {
  const Versions& versions = speaker.versions;
  const std::string range = versions.oldest == versions.newest
                                ? fmt::format("{}", versions.newest)
                                : fmt::format("{}-{}", versions.oldest, versions.newest);
  return fmt::format("{} has muster {} (protocol {})", speaker.name, versions.release, range);
}

tl::unexpected<Error> Differ(const Speaker& ours, const Speaker& theirs, std::string_view hint) {
  return WithHint(Fail(Code::kDisagreement, "{}, {}", Describe(theirs), Describe(ours)), std::string(hint));
}

}  // namespace

void Fields(auto& wire, Is<Versions> auto& versions) {
  wire(versions.oldest, versions.newest, versions.release);
  wire.Require(versions.oldest <= versions.newest && versions.release.size() <= kLongestRelease);
}

Bytes Encode(const Versions& versions) { return EncodeFields(ControlType::kVersions, versions); }

Result<Versions> DecodeVersions(ByteView frame) {
  FieldReader reader(frame);
  uint8_t type = 0;
  Versions versions;
  reader(type, versions);
  if (!reader.ok()) return Fail(Code::kInternal, "malformed versions");
  return versions;
}

Result<uint16_t> CommonVersion(const Speaker& ours, const Speaker& theirs) {
  const uint16_t newest = std::min(ours.versions.newest, theirs.versions.newest);
  if (newest >= std::max(ours.versions.oldest, theirs.versions.oldest)) return newest;
  return Differ(ours, theirs, "install the same release of muster, or the next one, inside and outside");
}

Status CheckSameVersion(const Speaker& ours, const Speaker& theirs) {
  if (ours.versions.newest == theirs.versions.newest) return {};
  return Differ(ours, theirs, "start all ranks with the same release of muster");
}

}  // namespace muster::rendezvous

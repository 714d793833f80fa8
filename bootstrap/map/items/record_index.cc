#include "bootstrap/map/items/record_index.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "comm/base/parse.h"

namespace muster::map {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr size_t kLongestRecord = size_t{16} << 20;
constexpr uint64_t kRecordsOfPlace = 64;
constexpr uint64_t kBytesOfPlace = uint64_t{1} << 16;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

void RecordCutter::Feed(std::string_view bytes, const std::function<void(uint64_t begin)>& visit) {
  for (const char c : bytes) {
    ++at_;
    if (c == '"' && style_.quotes) quoted_ = !quoted_;
    if (c != '\n' || quoted_) {
      blank_ = blank_ && (c == '\r' || c == '\n' || (style_.blank_spaces && IsBlank(c)));
      continue;
    }
    if (!blank_) visit(record_);
    record_ = at_;
    blank_ = true;
  }
}

void RecordCutter::End(const std::function<void(uint64_t begin)>& visit) {
  if (!blank_) visit(record_);
}

// Blank lines may follow.
std::string_view RecordIndex::Block::TextOf(uint64_t record) const {
  const size_t number = record - first;
  const uint64_t end = number + 1 < begins.size() ? begins[number + 1] : begin + bytes.size();
  std::string_view text = std::string_view(bytes).substr(begins[number] - begin, end - begins[number]);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

void RecordIndex::Add(uint64_t begin) {
  if (style_.header && !header_) {
    header_ = Block{0, begin, "", {begin}};
    return;
  }
  if (places_.empty() || size_ - places_.back().first >= kRecordsOfPlace ||
      begin - places_.back().begin >= kBytesOfPlace)
    places_.push_back({size_, begin, 0});
  ++size_;
}

Status RecordIndex::Build() {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return WithHint(Fail(Code::kConfiguration, "{} is not a regular file", path_),
                    "write them to a file: every rank reads the items");
  }
  end_ = static_cast<uint64_t>(status.st_size);
  std::string bytes(std::min<uint64_t>(kByteOrderMark.size(), end_), '\0');
  MUSTER_CHECK(ReadBytes(0, bytes));
  uint64_t at = bytes == kByteOrderMark ? bytes.size() : 0;
  RecordCutter cutter(style_, at);
  const auto add = [this](uint64_t begin) { Add(begin); };
  for (; at < end_; at += bytes.size()) {
    bytes.resize(std::min<uint64_t>(kChunk, end_ - at));
    MUSTER_CHECK(ReadBytes(at, bytes));
    cutter.Feed(bytes, add);
    if (at + bytes.size() - cutter.record() > kLongestRecord) {
      return Fail(Code::kConfiguration, "{}: a record of more than {} MiB{}", At(cutter.record()),
                  kLongestRecord >> 20, cutter.in_quotes() ? ": a quote is never closed" : "");
    }
  }
  cutter.End(add);
  if (!header_) return {};
  header_->bytes.resize((places_.empty() ? end_ : places_.front().begin) - header_->begin);
  return ReadBytes(header_->begin, header_->bytes);
}

size_t RecordIndex::PlaceOf(uint64_t record) const {
  const auto after = std::ranges::upper_bound(places_, record, {}, &Place::first);
  return static_cast<size_t>(after - places_.begin()) - 1;
}

Result<RecordIndex::Block> RecordIndex::ReadPlace(size_t number) const {
  const Place& place = places_[number];
  const bool last = number + 1 == places_.size();
  Block block{place.first, place.begin, "", {}};
  block.bytes.resize((last ? end_ : places_[number + 1].begin) - place.begin);
  MUSTER_CHECK(ReadBytes(place.begin, block.bytes));
  RecordCutter cutter(style_, place.begin);
  const auto add = [&block](uint64_t begin) { block.begins.push_back(begin); };
  cutter.Feed(block.bytes, add);
  cutter.End(add);
  if (block.begins.size() != (last ? size_ : places_[number + 1].first) - place.first) return Changed();
  return block;
}

Result<RecordIndex::Block> RecordIndex::Read(uint64_t record) {
  const size_t number = PlaceOf(record);
  MUSTER_TRY(Block block, ReadPlace(number));
  places_[number].digest = std::hash<std::string>{}(block.bytes);
  return block;
}

Result<RecordIndex::Block> RecordIndex::ReadAgain(uint64_t record) const {
  const size_t number = PlaceOf(record);
  MUSTER_TRY(Block block, ReadPlace(number));
  if (std::hash<std::string>{}(block.bytes) == places_[number].digest) return block;
  return Changed();
}

tl::unexpected<Error> RecordIndex::Changed() const {
  return WithHint(Fail(Code::kSystem, "{} has changed since the map began", path_),
                  "leave a file of items as it is while a map works on it");
}

Status RecordIndex::ReadBytes(uint64_t begin, std::string& bytes) const {
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = TEMP_FAILURE_RETRY(
        pread(file_.get(), bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(begin + filled)));
    if (got < 0) return Fail(Code::kSystem, "cannot read {}: {}", path_, ErrnoText(errno));
    if (got == 0) return Changed();
    filled += static_cast<size_t>(got);
  }
  return {};
}

std::string RecordIndex::At(uint64_t offset) const {
  uint64_t line = 1;
  uint64_t line_begin = 0;
  std::string chunk(kChunk, '\0');
  for (uint64_t at = 0; at < offset;) {
    const ssize_t got =
        pread(file_.get(), chunk.data(), std::min<uint64_t>(kChunk, offset - at), static_cast<off_t>(at));
    if (got <= 0) break;
    for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
      if (chunk[i] != '\n') continue;
      ++line;
      line_begin = at + i + 1;
    }
    at += static_cast<uint64_t>(got);
  }
  return fmt::format("{}:{}:{}", path_, line, offset - line_begin + 1);
}

}  // namespace muster::map

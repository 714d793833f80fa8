#include "bootstrap/map/items/item_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/text/utf8.h"
#include "comm/base/unique_fd.h"

namespace muster::map {
namespace {

constexpr size_t kChunk = size_t{1} << 20;
constexpr size_t kLongestRecord = size_t{16} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class FileFormat : uint8_t { kJsonLines, kCsv, kText };

Result<FileFormat> FormatOf(const std::string& path) {
  if (path == "-" || path == "/dev/stdin") {
    return WithHint(
        Fail(Code::kConfiguration, "items cannot come from the standard input: every rank reads them"),
        "write them to a file that all nodes share");
  }
  constexpr auto kExtensions = std::to_array<std::pair<std::string_view, FileFormat>>({
      {".jsonl", FileFormat::kJsonLines},
      {".ndjson", FileFormat::kJsonLines},
      {".csv", FileFormat::kCsv},
      {".txt", FileFormat::kText},
  });
  for (const auto& [extension, format] : kExtensions) {
    if (path.ends_with(extension)) return format;
  }
  return WithHint(Fail(Code::kConfiguration, "{}: the extension does not determine the format", path),
                  ".jsonl: a JSON object a line; .csv: with a header line; .txt: an item a line");
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::optional<RecordFault> FaultOfText(std::string_view record) {
  if (const size_t bad = config::FirstInvalidUtf8(record); bad < record.size())
    return RecordFault{bad, "not UTF-8"};
  if (const size_t zero = record.find('\0'); zero != std::string_view::npos)
    return RecordFault{zero, "text cannot hold a zero byte"};
  return std::nullopt;
}

// A part of the file, read ahead.
struct Window {
  uint64_t begin = 0;
  std::string bytes;
};

class ItemFile : public ItemSource {
 public:
  ItemFile(UniqueFd file, std::string path, FileFormat format)
      : path_(std::move(path)), format_(format), file_(std::move(file)) {}

  Status Prepare(std::string_view class_field) {
    struct stat status {};
    if (fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return WithHint(Fail(Code::kConfiguration, "{} is not a regular file", path_),
                      "every rank reads the items; write them to a file");
    }
    end_ = static_cast<uint64_t>(status.st_size);
    MUSTER_CHECK(FindRecords());
    if (format_ == FileFormat::kCsv) MUSTER_CHECK(ReadHeader());
    if (size() == 0) return Fail(Code::kConfiguration, "{} has no items", path_);
    const Status surveyed = Survey(class_field);
    survey_window_ = {};
    surveyed_ = true;
    return surveyed;
  }

  uint64_t size() const override { return begins_.size(); }

  Result<SourceItem> Read(uint64_t index) const override {
    if (!surveyed_) return ReadWith(index, survey_window_, Code::kConfiguration);
    Window window;
    MUSTER_TRY(SourceItem item, ReadWith(index, window, Code::kSystem));
    if (std::hash<std::string>{}(item.key) == hashes_[index]) return item;
    return Fail(Code::kSystem, "{} has changed since the map began: item {} is another one", path_, index);
  }

  std::string Where(uint64_t index) const override {
    if (index >= size()) return path_;
    const std::string at = At(begins_[index]);
    return at.substr(0, at.rfind(':'));
  }

 private:
  void Remember(uint64_t index, uint64_t hash) override {
    hashes_.resize(size());
    hashes_[index] = hash;
  }

  // "items.csv:3:17" of a byte of the file.
  std::string At(uint64_t offset) const {
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

  // `bytes` of the file from `begin` on are in the window.
  Status Fill(Window& window, uint64_t begin, size_t bytes) const {
    if (begin >= window.begin && begin + bytes <= window.begin + window.bytes.size()) return {};
    window.begin = begin;
    window.bytes.resize(bytes);
    size_t filled = 0;
    while (filled < bytes) {
      const ssize_t got = pread(file_.get(), window.bytes.data() + filled, bytes - filled,
                                static_cast<off_t>(begin + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Fail(Code::kSystem, "cannot read {}: {}", path_, ErrnoText(errno));
      if (got == 0) return Fail(Code::kSystem, "{} has become shorter since the map began", path_);
      filled += static_cast<size_t>(got);
    }
    return {};
  }

  // Where each record begins. In CSV a line end in quotes ends no record.
  Status FindRecords() {
    Window window;
    uint64_t record = 0;
    bool quoted = false;
    bool blank = true;
    for (uint64_t at = 0; at < end_; at += window.bytes.size()) {
      MUSTER_CHECK(Fill(window, at, std::min<uint64_t>(kChunk, end_ - at)));
      if (at == 0 && std::string_view(window.bytes).starts_with(kByteOrderMark))
        record = kByteOrderMark.size();
      for (size_t i = at == 0 ? record : 0; i < window.bytes.size(); ++i) {
        const char c = window.bytes[i];
        if (c == '"' && format_ == FileFormat::kCsv) quoted = !quoted;
        if (c != '\n' || quoted) {
          blank = blank && (c == '\r' || c == '\n' || (IsBlank(c) && format_ == FileFormat::kJsonLines));
          continue;
        }
        if (!blank) begins_.push_back(record);
        record = at + i + 1;
        blank = true;
      }
      if (at + window.bytes.size() - record > kLongestRecord) {
        return Fail(Code::kConfiguration, "{}: a record of more than {} MiB{}", At(record),
                    kLongestRecord >> 20, quoted ? ": a quote is never closed" : "");
      }
    }
    if (!blank) begins_.push_back(record);
    return {};
  }

  Status ReadHeader() {
    if (begins_.empty()) return {};
    Window window;
    MUSTER_TRY(const std::string_view record, Record(0, window));
    if (const auto fault = FaultOfText(record)) return Broken(Code::kConfiguration, 0, *fault);
    auto names = ParseCsvRecord(record);
    if (!names) return Broken(Code::kConfiguration, 0, names.error());
    for (auto name = names->begin(); name != names->end(); ++name) {
      if (name->empty()) return Broken(Code::kConfiguration, 0, {0, "a name of the header line is empty"});
      if (std::find(names->begin(), name, *name) == name) continue;
      return Broken(Code::kConfiguration, 0,
                    {0, fmt::format("the header line has {} a second time", config::JsonQuoted(*name))});
    }
    header_ = *std::move(names);
    begins_.erase(begins_.begin());
    return {};
  }

  // Without its line end. Valid as long as the window.
  Result<std::string_view> Record(uint64_t index, Window& window) const {
    const uint64_t begin = begins_[index];
    const uint64_t end = index + 1 < begins_.size() ? begins_[index + 1] : end_;
    const size_t bytes = end - begin;
    const bool ahead = !surveyed_ && (begin < window.begin || end > window.begin + window.bytes.size());
    MUSTER_CHECK(
        Fill(window, begin, ahead ? std::min<uint64_t>(std::max(bytes, kChunk), end_ - begin) : bytes));
    std::string_view record = std::string_view(window.bytes).substr(begin - window.begin, bytes);
    // Blank lines may follow.
    while (!record.empty() && (record.back() == '\n' || record.back() == '\r')) record.remove_suffix(1);
    return record;
  }

  tl::unexpected<Error> Broken(Code code, uint64_t begin, const RecordFault& fault) const {
    return Fail(code, "{}: {}", At(begin + fault.offset), fault.why);
  }

  Result<SourceItem> ReadWith(uint64_t index, Window& window, Code code) const {
    MUSTER_TRY(const std::string_view record, Record(index, window));
    if (const auto fault = FaultOfText(record)) return Broken(code, begins_[index], *fault);
    auto fields = FieldsOf(record);
    if (!fields) return Broken(code, begins_[index], fields.error());
    return MakeItem(index, *std::move(fields));
  }

  RecordResult<ItemFields> FieldsOf(std::string_view record) const {
    if (format_ == FileFormat::kText) return ItemFields{{"item", std::string(record)}};
    if (format_ == FileFormat::kJsonLines) return ParseJsonRecord(record);
    auto cells = ParseCsvRecord(record);
    if (!cells) return tl::unexpected(std::move(cells).error());
    if (cells->size() != header_.size()) {
      return tl::unexpected(
          RecordFault{0, fmt::format("{} fields; the header line has {}", cells->size(), header_.size())});
    }
    ItemFields fields;
    for (size_t i = 0; i < header_.size(); ++i) fields.emplace_back(header_[i], std::move((*cells)[i]));
    return fields;
  }

  const std::string path_;
  const FileFormat format_;
  const UniqueFd file_;
  uint64_t end_ = 0;
  std::vector<std::string> header_;  // CSV
  std::vector<uint64_t> begins_;     // by item
  std::vector<uint64_t> hashes_;     // of the keys
  bool surveyed_ = false;
  mutable Window survey_window_;  // until then, which is before any other thread has this
};

}  // namespace

Result<std::unique_ptr<ItemSource>> OpenItemFile(const std::string& path, std::string_view class_field) {
  MUSTER_CHECK(FormatOf(path));
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Fail(Code::kConfiguration, "cannot read {}: {}", path, ErrnoText(errno));
  return ReadItemFile(std::move(file), path, class_field);
}

Result<std::unique_ptr<ItemSource>> ReadItemFile(UniqueFd file, const std::string& path,
                                                 std::string_view class_field) {
  MUSTER_TRY(const FileFormat format, FormatOf(path));
  auto items = std::make_unique<ItemFile>(std::move(file), path, format);
  MUSTER_CHECK(items->Prepare(class_field));
  return items;
}

}  // namespace muster::map

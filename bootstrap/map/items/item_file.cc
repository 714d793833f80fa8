#include "bootstrap/map/items/item_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/config/text/read_file.h"
#include "bootstrap/config/text/utf8.h"
#include "bootstrap/map/items/record_index.h"
#include "comm/base/unique_fd.h"

namespace muster::map {
namespace {

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
  return WithHint(
      Fail(Code::kConfiguration, "{}: the extension does not determine the format", path),
      "name the file .jsonl (a JSON object a line), .csv (with a header line) or .txt (an item a line)");
}

std::optional<RecordFault> FaultOfText(std::string_view record) {
  if (const size_t bad = config::FirstInvalidUtf8(record); bad < record.size())
    return RecordFault{bad, "not UTF-8"};
  if (const size_t zero = record.find('\0'); zero != std::string_view::npos)
    return RecordFault{zero, "text cannot hold a zero byte"};
  return std::nullopt;
}

RecordStyle StyleOf(FileFormat format) {
  return {format == FileFormat::kCsv, format == FileFormat::kJsonLines, format == FileFormat::kCsv};
}

class ItemFile : public ItemSource {
 public:
  ItemFile(UniqueFd file, std::string path, FileFormat format)
      : path_(path), format_(format), records_(std::move(file), std::move(path), StyleOf(format)) {}

  Status Prepare(std::string_view class_field) {
    MUSTER_CHECK(records_.Build());
    if (records_.header()) MUSTER_CHECK(ReadHeader(*records_.header()));
    if (size() == 0) return Fail(Code::kConfiguration, "{} has no items", path_);
    Status surveyed = Survey(class_field);
    block_ = {};
    surveyed_ = true;
    return surveyed;
  }

  uint64_t size() const override { return records_.size(); }

  Result<SourceItem> Read(uint64_t index) const override {
    if (surveyed_) {
      MUSTER_TRY(const RecordIndex::Block block, records_.ReadAgain(index));
      return ReadFrom(block, index);
    }
    if (!block_.Has(index)) {
      MUSTER_TRY(block_, records_.Read(index));
    }
    return ReadFrom(block_, index);
  }

  std::string Where(uint64_t index) const override {
    if (index >= size()) return path_;
    const auto block = records_.ReadAgain(index);
    if (!block) return path_;
    const std::string at = records_.At(block->BeginOf(index));
    return at.substr(0, at.rfind(':'));
  }

 private:
  Status ReadHeader(const RecordIndex::Block& block) {
    const std::string_view record = block.TextOf(0);
    if (const auto fault = FaultOfText(record)) return Broken(block.begin, *fault);
    auto names = ParseCsvRecord(record);
    if (!names) return Broken(block.begin, names.error());
    for (auto name = names->begin(); name != names->end(); ++name) {
      if (name->empty()) return Broken(block.begin, {0, "a name of the header line is empty"});
      if (std::find(names->begin(), name, *name) == name) continue;
      return Broken(block.begin,
                    {0, fmt::format("the header line has {} a second time", config::JsonQuoted(*name))});
    }
    header_ = *std::move(names);
    return {};
  }

  tl::unexpected<Error> Broken(uint64_t begin, const RecordFault& fault) const {
    return Fail(Code::kConfiguration, "{}: {}", records_.At(begin + fault.offset), fault.why);
  }

  Result<SourceItem> ReadFrom(const RecordIndex::Block& block, uint64_t index) const {
    const std::string_view record = block.TextOf(index);
    if (const auto fault = FaultOfText(record)) return Broken(block.BeginOf(index), *fault);
    auto fields = FieldsOf(record);
    if (!fields) return Broken(block.BeginOf(index), fields.error());
    return MakeItem(index, *std::move(fields));
  }

  RecordResult<ItemFields> FieldsOf(std::string_view record) const {
    if (format_ == FileFormat::kText) return ItemFields{{"item", std::string(record)}};
    if (format_ == FileFormat::kJsonLines) return ParseJsonRecord(record);
    auto cells = ParseCsvRecord(record);
    if (!cells) return tl::unexpected(std::move(cells).error());
    if (cells->size() != header_.size()) {
      return tl::unexpected(RecordFault{
          0, fmt::format("{} fields; the header line has {}; write a field for each of its names, in "
                         "quotes if it has a comma",
                         cells->size(), header_.size())});
    }
    ItemFields fields;
    for (size_t i = 0; i < header_.size(); ++i) fields.emplace_back(header_[i], std::move((*cells)[i]));
    return fields;
  }

  const std::string path_;
  const FileFormat format_;
  std::vector<std::string> header_;  // CSV
  bool surveyed_ = false;
  // Until then it is built, and read in order, by one thread.
  mutable RecordIndex records_;
  mutable RecordIndex::Block block_;
};

}  // namespace

Result<std::unique_ptr<ItemSource>> OpenItemFile(const std::string& path, std::string_view class_field) {
  MUSTER_CHECK(FormatOf(path));
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return config::CannotRead(path);
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

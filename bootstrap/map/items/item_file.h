// Items from a file, by its extension:
//
//   .jsonl .ndjson   a value of JSON a line: an object's fields; text or a number is a bare value
//   .csv             RFC 4180, with a header line of names
//   .txt             a line is a bare value
//
// Empty lines are passed over. UTF-8; a line has at most 16 MiB.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/map/items/item_source.h"
#include "comm/base/unique_fd.h"

namespace muster::map {

// As ItemSource::Open.
Result<std::unique_ptr<ItemSource>> OpenItemFile(const std::string& path, std::string_view class_field = {});

// The same, of a file that is open: `path` is its name in messages, with the extension.
Result<std::unique_ptr<ItemSource>> ReadItemFile(UniqueFd file, const std::string& path,
                                                 std::string_view class_field = {});

// Why a record cannot be read, and at which of its bytes.
struct RecordFault {
  size_t offset = 0;
  std::string why;
};
template <typename T>
using RecordResult = tl::expected<T, RecordFault>;

// One record without its line end. Pure.
RecordResult<ItemFields> ParseJsonRecord(std::string_view record);
RecordResult<std::vector<std::string>> ParseCsvRecord(std::string_view record);

}  // namespace muster::map

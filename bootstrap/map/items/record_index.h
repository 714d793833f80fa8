// The offsets of a file's records: one for at most 64 of them, and a digest of their bytes, so that ten
// million items cost a rank some megabytes. A record is found by reading from its offset again.
//
// A record ends at a line end; in CSV a line end in quotes ends none. Blank lines are no records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::map {

struct RecordStyle {
  bool quotes = false;        // a line end in quotes is a part of the record
  bool blank_spaces = false;  // a line of spaces and tabs is blank
  bool header = false;        // the first record is none of the items
};

// Cuts bytes into records, as they come.
class RecordCutter {
 public:
  // `begin`: of the first byte that is fed.
  RecordCutter(const RecordStyle& style, uint64_t begin) : style_(style), at_(begin), record_(begin) {}

  // `visit`: each record that ends, by its first byte.
  void Feed(std::string_view bytes, const std::function<void(uint64_t begin)>& visit);
  // The file has ended.
  void End(const std::function<void(uint64_t begin)>& visit);
  // The first byte of the one that has not ended.
  uint64_t record() const { return record_; }
  bool in_quotes() const { return quoted_; }

 private:
  const RecordStyle style_;
  uint64_t at_ = 0;
  uint64_t record_ = 0;
  bool quoted_ = false;
  bool blank_ = true;
};

class RecordIndex {
 public:
  RecordIndex(UniqueFd file, std::string path, const RecordStyle& style)
      : path_(std::move(path)), style_(style), file_(std::move(file)) {}

  // Goes through the file once. Error: kConfiguration: no regular file; a record of more than 16 MiB.
  Status Build();

  // Without the header.
  uint64_t size() const { return size_; }
  // The records of one place.
  struct Block {
    uint64_t first = 0;  // their numbers
    uint64_t begin = 0;  // a byte of the file
    std::string bytes;
    std::vector<uint64_t> begins;  // bytes of the file

    bool Has(uint64_t record) const { return record >= first && record - first < begins.size(); }
    uint64_t BeginOf(uint64_t record) const { return begins[record - first]; }
    // Without its line end.
    std::string_view TextOf(uint64_t record) const;
  };
  // The block of this record. The first reading counts: later ones are compared with it. Error: `code`: the
  // file cannot be read now, or has changed.
  Result<Block> Read(uint64_t record);
  // From then on from any thread.
  Result<Block> ReadAgain(uint64_t record) const;
  const std::optional<Block>& header() const { return header_; }

  // "items.csv:3:17" of a byte of the file.
  std::string At(uint64_t offset) const;

 private:
  struct Place {
    uint64_t first = 0;
    uint64_t begin = 0;
    uint64_t digest = 0;
  };
  size_t PlaceOf(uint64_t record) const;
  Result<Block> ReadPlace(size_t number) const;
  Status ReadBytes(uint64_t begin, std::string& bytes) const;
  void Add(uint64_t begin);
  tl::unexpected<Error> Changed() const;

  const std::string path_;
  const RecordStyle style_;
  const UniqueFd file_;
  uint64_t end_ = 0;
  uint64_t size_ = 0;
  std::vector<Place> places_;
  std::optional<Block> header_;
};

}  // namespace muster::map

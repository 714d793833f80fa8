// The directory of a journal, and its files: 000001.segment, 000002.segment, ...
//
// Threads: any; a value that moves. Its functions block for the file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"
#include "comm/map/journal/format.h"

namespace muster::map {

class JournalDirectory {
 public:
  // Error: kSystem.
  static Result<JournalDirectory> Open(const std::string& path);
  // Makes the last component of the path if it is not there. Refuses a link of another user, and a directory
  // of another user if every user may write its parent. Error: kSystem.
  static Result<JournalDirectory> Make(const std::string& path);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  std::string FileOf(uint32_t term) const;  // for users

  // Ascending. Error: kSystem.
  Result<std::vector<uint32_t>> Terms() const;
  bool Has(uint32_t term) const;
  // For reading. Error: kSystem: it cannot be read, is no plain file, or another user may have put it there.
  Result<UniqueFd> OpenSegment(uint32_t term) const;
  // For reading and writing; absent: another run has made it. Error: kSystem.
  Result<std::optional<UniqueFd>> CreateSegment(uint32_t term) const;
  void RemoveSegment(uint32_t term) const;
  // A file beside the segments, made if need be; -1 if it cannot be had.
  UniqueFd OpenLockFile() const;
  // Makes the names of the segments durable. Error: kSystem.
  Status Sync() const;
  // True if the path still leads to this directory.
  bool IsInPlace() const;

 private:
  static Result<JournalDirectory> Of(const std::string& path, int fd);

  std::string path_;
  UniqueFd fd_;
};

// The bytes of an open file. The descriptor stays the caller's. `name`: for errors.
ByteSource SourceOf(int fd, std::string name);
Result<uint64_t> SizeOf(int fd, std::string_view name);

// The beginning of a segment; absent: its run ended before it wrote this, and it has no records. Error:
// FindHeader's.
struct SegmentStart {
  FoundHeader found;
  std::optional<SegmentBounds> bounds;  // absent: not written, or damaged
};
Result<std::optional<SegmentStart>> ReadStart(int fd, const std::string& name);

}  // namespace muster::map

// The entries of a directory. opendir(3) takes 32 KiB of the heap for it, of which each process of a launch pays
// for new pages.
#pragma once

#include <dirent.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/unique_fd.h"

namespace muster {

class DirectoryReader {
 public:
  struct Entry {
    const char* name;    // valid until the next one
    unsigned char type;  // DT_DIR and so on; DT_UNKNOWN: stat it
  };

  explicit DirectoryReader(const std::string& path);
  explicit DirectoryReader(int fd) : fd_(fd), error_(fd_ ? 0 : errno) {}  // its own, or -1 and errno
  DirectoryReader(const DirectoryReader&) = delete;
  DirectoryReader& operator=(const DirectoryReader&) = delete;

  // Negative if the directory cannot be read.
  int fd() const { return fd_.get(); }
  int error() const { return error_; }  // errno, if the directory cannot be read
  // Also "." and "..". Absent: no more, or the directory cannot be read.
  std::optional<Entry> Next();

 private:
  UniqueFd fd_;
  int error_;
  size_t at_ = 0;
  size_t end_ = 0;
  alignas(dirent64) std::array<char, 4096> buffer_;
};

// The names in a directory, ascending, without "." and ".."; none if it cannot be read.
std::vector<std::string> NamesIn(const std::string& path);

}  // namespace muster

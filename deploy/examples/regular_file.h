// Whole files in and out, with errors that name the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/base/unique_fd.h"

namespace muster::examples {

// The content of a regular file (a pipe or a device could block for ever or never end) of at most `limit`
// bytes. Error: kSystem when it cannot be read, kConfiguration when it is no such file. Blocks for as long as
// the file system does.
Result<std::string> ReadRegularFile(const std::string& path, size_t limit);

// A file that is to be written once, at the end of the work, but whose path is checked at the beginning.
// Until then it is empty, so that an earlier run's content is not taken for this one's. Errors: kSystem, name
// the path.
class OutputFile {
 public:
  static Result<OutputFile> Open(std::string path);
  Status WriteAndClose(std::string_view content);

 private:
  OutputFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace muster::examples

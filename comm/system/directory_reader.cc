#include "comm/system/directory_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>

#include "comm/system/system_calls.h"

namespace muster {

DirectoryReader::DirectoryReader(const std::string& path)
    : DirectoryReader(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)) {}

std::optional<DirectoryReader::Entry> DirectoryReader::Next() {
  if (at_ == end_) {
    const ssize_t got = fd_ ? ReadDirectory(fd_.get(), buffer_.data(), buffer_.size()) : 0;
    if (got < 0 && errno != ENOENT) error_ = errno;  // ENOENT: the directory has been removed
    if (got <= 0) return std::nullopt;
    at_ = 0;
    end_ = static_cast<size_t>(got);
  }
  const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at_);
  at_ += entry->d_reclen;
  return Entry{entry->d_name, entry->d_type};
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  DirectoryReader entries(path);
  while (const auto entry = entries.Next()) {
    const std::string_view name = entry->name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace muster

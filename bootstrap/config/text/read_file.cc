#include "bootstrap/config/text/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "comm/base/unique_fd.h"

namespace muster::config {

tl::unexpected<Error> CannotRead(const std::filesystem::path& file) {
  auto failure = Fail(Code::kConfiguration, "cannot read {}: {}", file.native(), ErrnoText(errno));
  if (file == "-")
    return WithHint(std::move(failure), "give a file: standard input has its text for one rank only");
  std::error_code unknown;
  const std::string from = file.is_relative() ? std::filesystem::current_path(unknown).native() : "";
  if (unknown)
    return WithHint(std::move(failure), "the working directory was removed: change to one that exists");
  return WithHint(std::move(failure), fmt::format("give a file that this user can read{}{}",
                                                  from.empty() ? "" : "; a relative path begins at ", from));
}

Result<std::string> ReadSmallFile(const std::filesystem::path& file, size_t limit) {
  // O_NONBLOCK: opening a pipe without a writer would wait for ever.
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0) return CannotRead(file);
  if (!S_ISREG(facts.st_mode)) return Fail(Code::kConfiguration, "{} is not a regular file", file.native());
  const auto expected = static_cast<size_t>(facts.st_size);
  if (expected > limit) {
    return Fail(Code::kConfiguration, "{} is too large: {} bytes; at most {}", file.native(), expected,
                limit);
  }
  // One more byte shows whether the file still grows.
  std::string text(expected + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = TEMP_FAILURE_RETRY(read(fd.get(), text.data() + length, text.size() - length));
    if (got < 0) return CannotRead(file);
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > expected) return Fail(Code::kConfiguration, "{} grew while it was read", file.native());
  text.resize(length);
  return text;
}

}  // namespace muster::config

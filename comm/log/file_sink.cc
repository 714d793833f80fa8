#include "comm/log/file_sink.h"

#include <unistd.h>

#include <cerrno>

#include "comm/log/open_for_writing.h"

namespace muster {

Result<std::shared_ptr<FileSink>> FileSink::Open(const std::string& path, std::shared_ptr<LogSink> fallback,
                                                 LineAboutLog complain) {
  auto file = OpenForWriting(path);
  if (!file) return Fail(Code::kSystem, "log.file: cannot open {}", file.error().message);
  return std::shared_ptr<FileSink>(
      new FileSink(path, *std::move(file), std::move(fallback), std::move(complain)));
}

FileSink::FileSink(std::string path, UniqueFd file, std::shared_ptr<LogSink> fallback, LineAboutLog complain)
    : path_(std::move(path)),
      file_(std::move(file)),
      fallback_(std::move(fallback)),
      complain_(std::move(complain)) {}

void FileSink::Write(std::string_view line) {
  const ssize_t written = TEMP_FAILURE_RETRY(write(file_.get(), line.data(), line.size()));
  if (written == static_cast<ssize_t>(line.size())) {
    failing_ = false;
    return;
  }
  // A line is written in part only if the disk became full with it.
  Complain(written < 0 ? errno : ENOSPC);
  fallback_->Write(line);
}

void FileSink::Complain(int error_number) {
  if (std::exchange(failing_, true)) return;
  fallback_->Write(complain_(fmt::format("log.file: cannot write {}: {}; these lines go to standard error",
                                         path_, ErrnoText(error_number))));
}

}  // namespace muster

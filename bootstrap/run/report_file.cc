#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "bootstrap/run/report.h"
#include "comm/base/unique_fd.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> CannotWrite(const std::string& path, int error_number) {
  return WithHint(Fail(Code::kSystem, "cannot write the report {}: {}", path, ErrnoText(error_number)),
                  "run.report names a file in a directory that exists and that you may write");
}

// 0, or errno.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

fs::path DirectoryOf(const std::string& path) {
  const fs::path directory = fs::path(path).parent_path();
  return directory.empty() ? "." : directory;
}

bool IsPage(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

}  // namespace

Status CheckReportPath(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return CannotWrite(path, EISDIR);
  if (access(DirectoryOf(path).c_str(), W_OK | X_OK) != 0) return CannotWrite(path, errno);
  return {};
}

Status WriteReport(const std::string& path, const RunRecord& record, std::string_view version) {
  const std::string text = IsPage(path) ? ReportHtml(record, version) : ReportJson(record, version);
  std::string temporary = (DirectoryOf(path) / ".muster-report-XXXXXX").string();
  UniqueFd file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return CannotWrite(path, errno);
  int problem = WriteAll(file.get(), text);
  // mkostemp gives a file that only its owner may read.
  const mode_t mask = umask(0);
  umask(mask);
  if (problem == 0 && fchmod(file.get(), 0666 & ~mask) != 0) problem = errno;
  // A file system that is full may say so only now.
  if (problem == 0 && fsync(file.get()) != 0 && errno != EINVAL) problem = errno;
  if (problem == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) problem = errno;
  if (problem == 0) return {};
  unlink(temporary.c_str());
  return CannotWrite(path, problem);
}

}  // namespace muster

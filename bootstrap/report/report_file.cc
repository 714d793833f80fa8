#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "bootstrap/report/report.h"
#include "comm/base/unique_fd.h"
#include "comm/log/open_for_writing.h"
#include "comm/system/system_calls.h"

namespace muster::report {
namespace {

// A reader of a named pipe that has stopped is not waited for any longer.
constexpr int kFullForMilliseconds = 5000;

// `what`: "PATH: reason".
tl::unexpected<Error> CannotWrite(std::string_view what) {
  return WithHint(Fail(Code::kSystem, "cannot write the report {}", what),
                  "choose a run.report in a directory that exists, that you may write and that has space");
}
tl::unexpected<Error> CannotWrite(const std::string& path, int error_number) {
  return CannotWrite(path + ": " + ErrnoText(error_number));
}

// 0, or errno.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = TEMP_FAILURE_RETRY(write(fd, text.data(), text.size()));
    pollfd room{fd, POLLOUT, 0};
    if (written < 0 && errno == EAGAIN && poll(&room, 1, kFullForMilliseconds) > 0) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

struct Draft {
  UniqueFd file;
  std::string name;
};

// A new file beside the report; empty with errno. The kernel applies the umask.
Draft MakeDraft(int directory) {
  // Another user could take a name that is known beforehand.
  Draft draft{{}, fmt::format(".muster-report-{:016x}", RandomNumber())};
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  draft.file.Reset(openat(directory, draft.name.c_str(), kNew, 0666));
  return draft;
}

// A reader finds the old file or the whole new one. 0, or errno.
int Replace(const WritingPlace& place, std::string_view text) {
  const int directory = place.directory.get();
  const Draft draft = MakeDraft(directory);
  if (!draft.file) return errno;
  int problem = WriteAll(draft.file.get(), text);
  // A full file system may report that only here.
  if (problem == 0 && fsync(draft.file.get()) != 0 && errno != EINVAL) problem = errno;
  if (problem == 0 && renameat(directory, draft.name.c_str(), directory, place.name.c_str()) != 0) {
    problem = errno;
  }
  if (problem != 0) unlinkat(directory, draft.name.c_str(), 0);
  return problem;
}

bool IsPage(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

}  // namespace

Status CheckReportPath(const std::string& path) {
  const auto place = FindForWriting(path);
  if (!place) return CannotWrite(place.error().message);
  if (place->replaceable && AccessAt(place->directory.get(), ".", W_OK | X_OK) != 0) {
    return CannotWrite(path, errno);
  }
  return {};
}

Status WriteReport(const std::string& path, const RunRecord& record, std::string_view version) {
  const std::string text = IsPage(path) ? ReportPage(record, version) : ReportJson(record, version);
  const auto place = FindForWriting(path);
  if (!place) return CannotWrite(place.error().message);
  int problem = 0;
  if (place->replaceable) {
    problem = Replace(*place, text);
  } else {
    const auto file = OpenForWriting(path);
    if (!file) return CannotWrite(file.error().message);
    problem = WriteAll(file->get(), text);
  }
  if (problem != 0) return CannotWrite(path, problem);
  return {};
}

}  // namespace muster::report

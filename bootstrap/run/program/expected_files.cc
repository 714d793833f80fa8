#include "bootstrap/run/program/expected_files.h"

#include <dirent.h>
#include <glob.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/run/program/program_environment.h"
#include "comm/base/parse.h"

namespace muster::run {
namespace {

constexpr size_t kMostNamed = 3;
constexpr Duration kProgressWithin = std::chrono::minutes(1);

void Report(const Progress& progress) {
  if (progress) progress();
}

bool IsGlob(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

// A client of NFS caches for up to a minute that a file was absent, or its old content; reading the directory
// makes it query the server. `refreshed`: the directories that were read.
void RefreshDirectoryOf(const std::string& path, std::set<std::string>& refreshed) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  if (!refreshed.insert(directory).second) return;
  DIR* const stream = opendir(directory.empty() ? "." : directory.c_str());
  if (stream == nullptr) return;
  readdir(stream);
  closedir(stream);
}

std::vector<std::string> Matches(const std::string& pattern) {
  if (!IsGlob(pattern)) return {pattern};
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

FileState StateOf(const struct stat& status) {
  FileState state;
  state.device = status.st_dev;
  state.inode = status.st_ino;
  state.size = status.st_size;
  state.seconds = status.st_mtim.tv_sec;
  state.nanoseconds = status.st_mtim.tv_nsec;
  state.changed_seconds = status.st_ctim.tv_sec;
  state.changed_nanoseconds = status.st_ctim.tv_nsec;
  return state;
}

// No more than `entries`, which becomes less by those that were read.
std::optional<uint64_t> StateBelow(const std::string& directory, int& entries, const Progress& progress) {
  uint64_t sum = 0;
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (Walk at(directory, options, error); !error && at != Walk(); at.increment(error)) {
    if (--entries < 0) return std::nullopt;
    const std::string& path = at->path().native();
    struct stat status {};
    const bool there = lstat(path.c_str(), &status) == 0;
    Report(progress);
    if (!there) continue;
    const FileState state = StateOf(status);
    // A sum: the order of entries is not the same after a change of others.
    sum += std::hash<std::string>()(fmt::format("{} {} {} {}.{} {}.{} {}", state.device, state.inode,
                                                state.size, state.seconds, state.nanoseconds,
                                                state.changed_seconds, state.changed_nanoseconds, path));
  }
  return sum;
}

bool IsEmpty(const std::string& path, const struct stat& status) {
  if (!S_ISDIR(status.st_mode)) return S_ISREG(status.st_mode) && status.st_size == 0;
  std::error_code unreadable;
  return std::filesystem::is_empty(path, unreadable) && !unreadable;
}

// Why this path does not count; empty: it does.
std::string Fault(const std::string& path, const FileStates& before, const Progress& progress) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "does not exist";
    return fmt::format("cannot be read: {}", ErrnoText(errno));
  }
  if (IsEmpty(path, status)) return "is empty";
  const auto known = before.find(path);
  if (known == before.end()) return "";
  FileState state = StateOf(status);
  int entries = kMostEntriesBelow;
  // More than before is a change, too.
  if (known->second.below) state.below = StateBelow(path, entries, progress);
  return known->second == state ? "was not written by this run" : "";
}

// A sentence if no match counts; empty: one does.
std::string Missing(const std::string& pattern, const FileStates& before, const Progress& progress,
                    std::set<std::string>& refreshed) {
  RefreshDirectoryOf(pattern, refreshed);
  if (!IsGlob(pattern)) {
    const std::string fault = Fault(pattern, before, progress);
    return fault.empty() ? "" : pattern + " " + fault;
  }
  std::string last;
  for (const std::string& path : Matches(pattern)) {
    const std::string fault = Fault(path, before, progress);
    Report(progress);
    if (fault.empty()) return "";
    last = path + " " + fault;
  }
  return last.empty() ? fmt::format("no file matches {}", pattern)
                      : fmt::format("of the files that match {} none counts: {}", pattern, last);
}

}  // namespace

std::vector<std::string> ExpandExpected(
    const std::vector<std::string>& patterns, int world_size,
    const std::function<std::string(int rank, std::string_view name)>& value) {
  std::vector<std::string> expanded;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> of_ranks;
    for (int rank = 0; rank < world_size; ++rank) {
      bool named = false;
      of_ranks.push_back(config::FillPlaceholders(pattern, [&](std::string_view name) {
        named = true;
        return value(rank, name);
      }));
      if (!named) break;
    }
    for (std::string& path : of_ranks) {
      if (seen.insert(path).second) expanded.push_back(std::move(path));
    }
  }
  return expanded;
}

FileStates LookAtFiles(const std::vector<std::string>& patterns, const Progress& progress) {
  FileStates states;
  int entries = kMostEntriesBelow;
  for (const std::string& pattern : patterns) {
    for (const std::string& path : Matches(pattern)) {
      struct stat status {};
      const bool there = stat(path.c_str(), &status) == 0;
      Report(progress);
      if (!there) continue;
      const auto [at, is_new] = states.emplace(path, StateOf(status));
      if (is_new && S_ISDIR(status.st_mode)) at->second.below = StateBelow(path, entries, progress);
    }
  }
  return states;
}

FileStates LookAtFilesOfAnyRank(std::vector<std::string> patterns, const Progress& progress) {
  for (std::string& pattern : patterns) pattern = config::FillPlaceholders(pattern, [](auto) { return "*"; });
  return LookAtFiles(patterns, progress);
}

std::string MissingFiles(const std::vector<std::string>& patterns, const FileStates& before,
                         const Progress& progress) {
  std::string text;
  size_t missing = 0;
  std::set<std::string> refreshed;
  for (const std::string& pattern : patterns) {
    const std::string sentence = Missing(pattern, before, progress, refreshed);
    Report(progress);
    if (sentence.empty()) continue;
    if (++missing <= kMostNamed) text += (text.empty() ? "" : "; ") + sentence;
  }
  if (missing > kMostNamed) text += fmt::format("; and {} more", missing - kMostNamed);
  return text;
}

std::optional<Error> CheckExpected(const std::vector<std::string>& patterns, const FileStates& before,
                                   const Progress& progress) {
  const std::string missing = MissingFiles(patterns, before, progress);
  if (missing.empty()) return std::nullopt;
  std::string hint = "look for an error in their output";
  // Files of a map are named with braces alone.
  for (const config::Placeholder& placeholder : config::Placeholders()) {
    const std::string name = fmt::format("{{{}}}", placeholder.name);
    if (missing.find(name) != std::string::npos)
      hint = fmt::format("write ${0} for its value: {0} is part of the name here", name);
  }
  return Error{Code::kWorkFailed,
               fmt::format("all programs exited with 0, but run.expect is not met: {}", missing), hint};
}

ExpectedFiles::ExpectedFiles(net::EventLoop& loop, std::vector<std::string> patterns, Before before)
    : loop_(loop), patterns_(std::move(patterns)), before_(std::move(before)), worker_(loop.mailbox()) {}

void ExpectedFiles::SetRanks(const Roster& roster, std::string_view job_key) {
  expected_ = ExpandExpected(patterns_, roster.size(), [&](int rank, std::string_view name) {
    return ValueOfRank(name, roster, rank, job_key);
  });
}

void ExpectedFiles::LookBefore(Then then) {
  if (*before_) return then(std::nullopt);
  const auto found = std::make_shared<FileStates>();
  Read(
      [found, expected = expected_, patterns = patterns_](const Progress& progress) -> std::optional<Error> {
        *found =
            expected.empty() ? LookAtFilesOfAnyRank(patterns, progress) : LookAtFiles(expected, progress);
        return std::nullopt;
      },
      [this, found, then = std::move(then)](const std::optional<Error>& late) {
        if (!late) *before_ = std::move(*found);
        then(late);
      });
}

void ExpectedFiles::Check(Then then) {
  Read([expected = expected_,
        before = **before_](const Progress& progress) { return CheckExpected(expected, before, progress); },
       std::move(then));
}

struct ExpectedFiles::Question {
  Then then;
  std::optional<Error> answer;
  std::atomic<Clock::time_point> progress{Clock::now()};
  net::EventLoop::TimerId late{};
};

void ExpectedFiles::Read(std::function<std::optional<Error>(const Progress& progress)> read, Then then) {
  const auto question = std::make_shared<Question>();
  question->then = std::move(then);
  Await(loop_, question, kProgressWithin);
  worker_.Run([question, read = std::move(
                             read)] { question->answer = read([&] { question->progress = Clock::now(); }); },
              [this, question] {
                loop_.Cancel(question->late);
                if (const Then answer = std::exchange(question->then, nullptr)) answer(question->answer);
              });
}

void ExpectedFiles::Await(net::EventLoop& loop, const std::shared_ptr<Question>& question,
                          Duration patience) {
  question->late = loop.After(patience, [&loop, question] {
    const Duration left = kProgressWithin - (Clock::now() - question->progress.load());
    if (left > Duration::zero()) return Await(loop, question, left);
    std::exchange(question->then, nullptr)(
        Error{Code::kDeadline,
              fmt::format("the files of run.expect could not be examined: no answer for {}",
                          FormatDuration(kProgressWithin)),
              "check the file system: it does not answer"});
  });
}

}  // namespace muster::run

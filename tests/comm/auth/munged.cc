#include "tests/comm/auth/munged.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "comm/auth/crypto.h"
#include "comm/base/deadline.h"

namespace muster::auth {
namespace {

constexpr std::chrono::seconds kPatience{30};

[[noreturn]] void Exec(const std::vector<std::string>& arguments, int log_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(log_fd, STDERR_FILENO);
  // The place of Debian and Red Hat; a user's PATH lacks sbin.
  setenv("PATH", "/usr/sbin:/usr/local/sbin:/sbin:/usr/bin:/bin", 1);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot start munged: %s (install the munge package)\n", ErrnoText(errno).c_str());
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<Munged>> Munged::Start() {
  std::unique_ptr<Munged> munged(new Munged());
  MUSTER_CHECK(munged->MakeDirectoryAndKey());
  MUSTER_CHECK(munged->Spawn());
  MUSTER_CHECK(munged->AwaitListening());
  return munged;
}

Munged::~Munged() {
  Stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

// Directly under /tmp: a socket's path has at most 107 characters, and munged wants every directory above it
// to be safe.
Status Munged::MakeDirectoryAndKey() {
  std::string directory = "/tmp/muster-munged-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return Fail(Code::kSystem, "mkdtemp: {}", ErrnoText(errno));
  directory_ = directory;
  socket_ = directory_ + "/socket";
  if (chmod(directory_.c_str(), 0711) != 0) return Fail(Code::kSystem, "chmod: {}", ErrnoText(errno));
  MUSTER_CHECK(CryptoReady());
  std::array<uint8_t, 128> key{};
  RandomBytes(key);
  const UniqueFd file(open((directory_ + "/key").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || write(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    return Fail(Code::kSystem, "cannot write munge's key: {}", ErrnoText(errno));
  }
  return {};
}

Status Munged::Spawn() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fail(Code::kSystem, "pipe: {}", ErrnoText(errno));
  log_.Reset(ends[0]);
  const UniqueFd write_end(ends[1]);
  const std::vector<std::string> arguments = {
      "munged",
      "--foreground",
      "--force",
      "--socket=" + socket_,
      "--key-file=" + directory_ + "/key",
      "--pid-file=" + directory_ + "/pid",
      "--log-file=" + directory_ + "/log",
      "--seed-file=" + directory_ + "/seed",
  };
  pid_ = fork();
  if (pid_ < 0) return Fail(Code::kSystem, "fork: {}", ErrnoText(errno));
  if (pid_ == 0) Exec(arguments, write_end.get());
  return {};
}

Status Munged::AwaitListening() {
  const Deadline deadline = Deadline::After(kPatience);
  std::string log;
  while (log.find("Created socket") == std::string::npos) {
    pollfd entry{log_.get(), POLLIN, 0};
    if (poll(&entry, 1, deadline.PollMilliseconds()) <= 0) {
      return Fail(Code::kDeadline, "munged did not listen within 30 s; it said: {}", log);
    }
    std::array<char, 4096> buffer{};
    const ssize_t length = read(log_.get(), buffer.data(), buffer.size());
    if (length <= 0) return Fail(Code::kSystem, "munged ended; it said: {}", log);
    log.append(buffer.data(), static_cast<size_t>(length));
  }
  return {};
}

void Munged::Stop() {
  if (pid_ < 0) return;
  // munged misses a SIGTERM that comes just before it waits for a client.
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  unlink(socket_.c_str());
  pid_ = -1;
}

}  // namespace muster::auth

// Files of several users, in tests that root runs.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace muster {

inline constexpr uid_t kVictim = 54321;    // who opens files
inline constexpr uid_t kStranger = 54322;  // who has prepared them
inline bool IsRoot() { return geteuid() == 0; }

// The result of `work` when that user runs it, in a process of its own.
inline std::string As(uid_t user, const std::function<std::string()>& work) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const bool changed =
        setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
    const std::string said = changed ? work() : "cannot become that user";
    [[maybe_unused]] const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  return said;
}

// A directory that every user can reach.
class SharedFolder {
 public:
  SharedFolder() {
    std::string name = "/tmp/muster-users-XXXXXX";
    path_ = mkdtemp(name.data());
    chmod(path_.c_str(), 0755);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string Directory(const std::string& name, uid_t owner, mode_t mode) const {
    return Given(name, owner,
                 [&](const char* path) { return mkdir(path, 0700) == 0 && chmod(path, mode) == 0; });
  }
  std::string File(const std::string& name, uid_t owner, mode_t mode, const std::string& text = "") const {
    return Given(name, owner, [&](const char* path) {
      std::ofstream(path) << text;
      return chmod(path, mode) == 0;
    });
  }
  std::string Link(const std::string& name, uid_t owner, const std::string& target) const {
    return Given(name, owner, [&](const char* path) { return symlink(target.c_str(), path) == 0; });
  }
  std::string Fifo(const std::string& name, uid_t owner) const {
    return Given(name, owner,
                 [](const char* path) { return mkfifo(path, 0600) == 0 && chmod(path, 0666) == 0; });
  }
  std::string Given(const std::string& name, uid_t owner,
                    const std::function<bool(const char* path)>& make) const {
    std::string path = *this / name;
    EXPECT_TRUE(make(path.c_str())) << path;
    // Only root may give files away; for others all are their own.
    EXPECT_TRUE(!IsRoot() || lchown(path.c_str(), owner, owner) == 0) << path;
    return path;
  }

 private:
  std::string path_;
};

inline std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace muster

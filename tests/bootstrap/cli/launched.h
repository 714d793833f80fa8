// A `muster` command in the background, with a directory of its own for what its programs write.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/base/folder.h"

namespace muster::cli {

// Far beyond what a loaded machine needs: a test that gets there has failed.
inline constexpr auto kPatience = std::chrono::seconds(100);

// "@" in `word` stands for the directory.
inline void Place(std::string& word, const std::string& directory) {
  for (size_t at = word.find('@'); at != std::string::npos; at = word.find('@', at)) {
    word.replace(at, 1, directory);
    at += directory.size();
  }
}

class Launched {
 public:
  // Words of the command after `muster`; "@" in one of them stands for the directory. `input`: its standard
  // input. `output`, `error`: a descriptor for its standard output and error; -1: a file (Out, Err). `terminal`: the
  // terminal of a session of its own; empty: that of the test.
  explicit Launched(std::vector<std::string> words, const std::string& input = "/dev/null", int output = -1,
                    int error = -1, const std::string& terminal = "") {
    words.insert(words.begin(), "bootstrap/cli/muster");
    std::vector<char*> arguments;
    for (std::string& word : words) {
      Place(word, folder_.path());
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    const std::string out = File("out");
    const std::string err = File("err");
    pid_ = fork();
    if (pid_ > 0) return;
    terminal.empty() ? setpgid(0, 0) : setsid();
    if (!terminal.empty()) open(terminal.c_str(), O_RDWR | O_CLOEXEC);
    for (const int number : {SIGINT, SIGQUIT, SIGHUP, SIGTERM}) signal(number, SIG_DFL);
    dup2(open(input.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(output >= 0 ? output : open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(error >= 0 ? error : open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(arguments.front(), arguments.data());
    _exit(126);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  std::string File(const std::string& name) const { return folder_.File(name); }
  std::string Out() const { return folder_.Read("out"); }
  std::string Err() const { return folder_.Read("err"); }

  // From a process of its own, as `kill` sends it.
  void Send(int number) const {
    const pid_t sender = fork();
    if (sender == 0) {
      kill(pid_, number);
      _exit(0);
    }
    waitpid(sender, nullptr, 0);
  }

  // Whether all these files come to be.
  bool Appear(const std::vector<std::string>& names) const {
    return Until([&] {
      for (const std::string& name : names) {
        if (!folder_.Has(name)) return false;
      }
      return true;
    });
  }
  bool Says(const std::string& text) const {
    return Until([&] { return Err().find(text) != std::string::npos; });
  }

  // As a shell sees it; -1: it has not ended.
  int Wait() {
    int status = 0;
    if (!Until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  template <typename Condition>
  static bool Until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  Folder folder_;
  pid_t pid_ = -1;
};

}  // namespace muster::cli

// A process of another user, or of this user, that acts and then stays until the object ends.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace muster::net {

class OtherProcess {
 public:
  static constexpr uid_t kNoOwner = 65534;

  // `act` runs in the child; what it opens stays open there. False: it could not.
  explicit OtherProcess(const std::function<bool()>& act, uid_t uid = getuid()) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const bool done =
          (uid == getuid() || (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0)) && act();
      const char byte = done ? 'y' : 'n';
      if (write(ready[1], &byte, 1) == 1 && done) pause();
      _exit(1);
    }
    close(ready[1]);
    char byte = 0;
    pollfd polled{ready[0], POLLIN, 0};
    acted_ = poll(&polled, 1, 60'000) == 1 && read(ready[0], &byte, 1) == 1 && byte == 'y';
    close(ready[0]);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { Kill(); }

  bool acted() const { return acted_; }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  bool acted_ = false;
};

}  // namespace muster::net

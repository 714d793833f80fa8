// Waiting for a Child in tests, bounded.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/process/child.h"
#include "comm/base/deadline.h"

namespace muster::process {

inline bool WaitReadable(int fd, Deadline deadline = Deadline::After(std::chrono::seconds(20))) {
  struct pollfd readable {
    fd, POLLIN, 0
  };
  return poll(&readable, 1, deadline.PollMilliseconds()) == 1;
}

// Everything up to the end of file.
inline std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  while (WaitReadable(fd)) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text + " [no end of file within 20 s]";
}

inline bool AwaitExit(const Child& child) {
  return child.AwaitExit(Deadline::After(std::chrono::seconds(20)));
}

inline ChildExit Finish(Child& child) {
  EXPECT_TRUE(AwaitExit(child)) << "the program did not end within 20 s";
  const auto end = child.Exited();
  EXPECT_TRUE(end.has_value());
  child.Reap();
  return end.value_or(ChildExit{-1, -1});
}

inline ChildOptions Program(std::vector<std::string> command, std::vector<std::string> environment) {
  ChildOptions options;
  options.command = std::move(command);
  options.environment = std::move(environment);
  return options;
}

inline ChildOptions Shell(const std::string& script) {
  return Program({"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"});
}

inline std::unique_ptr<Child> Started(const ChildOptions& options) {
  auto child = Child::Start(options);
  EXPECT_TRUE(child) << child.error().error.message;
  // ThreadSanitizer makes a fork of vfork: the program may not have its process group yet, which signals go to.
  while (child && options.own_process_group && getpgid((*child)->pid()) == getpgrp())
    std::this_thread::yield();
  return child ? *std::move(child) : nullptr;
}

}  // namespace muster::process

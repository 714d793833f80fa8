// Both ends of a pipe that do not block, and what is in it or in a file.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "comm/base/unique_fd.h"

namespace muster::output {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

inline Pipe MakePipe() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

inline std::string ReadSome(int fd) {
  std::string text;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

inline std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace muster::output

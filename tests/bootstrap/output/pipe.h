// Both ends of a pipe that do not block.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace muster::output

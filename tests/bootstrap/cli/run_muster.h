// A `muster` command from its start to its end, with an environment of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/comm/base/folder.h"

namespace muster::cli {

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

// `words` goes through a shell, and so does what stands before the command: variables.
inline Outcome RunMuster(const std::string& words, const std::string& variables = "") {
  const std::string base = testing::TempDir() + "/run_muster";
  const std::string command = "exec env -i PATH=\"$PATH\" " + variables + " bootstrap/cli/muster " + words +
                              " >" + base + ".out 2>" + base + ".err";
  const int status = std::system(("( " + command + " ) </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ContentOf(base + ".out"),
          ContentOf(base + ".err")};
}

}  // namespace muster::cli

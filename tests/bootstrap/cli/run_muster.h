// A `muster` command from its start to its end, with an environment of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace muster::cli {

struct Outcome {
  int status = -1;
  std::string out;
  std::string err;
};

// `words` goes through a shell, and so does what stands before the command: variables.
inline Outcome RunMuster(const std::string& words, const std::string& variables = "") {
  const auto content = [](const std::string& path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string base = testing::TempDir() + "/run_muster";
  const std::string command = "exec env -i PATH=\"$PATH\" " + variables + " bootstrap/cli/muster " + words +
                              " >" + base + ".out 2>" + base + ".err";
  const int status = std::system(("( " + command + " ) </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(base + ".out"),
          content(base + ".err")};
}

}  // namespace muster::cli

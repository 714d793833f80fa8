// The programs' output that could not be written: the first failure of each kind is logged immediately, the number
// of bytes at the end of the run.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace muster::output {

enum class OutputKind : uint8_t { kOut, kErr, kLogFile };

class OutputLosses {
 public:
  // write(2) has failed. `file`: as users know it; a log file's path.
  void Failed(OutputKind kind, const std::string& file, int error_number, size_t bytes);
  // Its reader took nothing for too long: `reason`.
  void NotRead(OutputKind kind, const std::string& file, const std::string& reason, size_t bytes);

  // Logs how much was lost.
  void Report() const;
  // The first failure to write standard output or a log file: the run must not end with 0. Empty: none.
  const std::string& failure() const { return failure_; }

 private:
  struct Loss {
    std::set<std::string> files;
    std::string first;
    std::string reason;
    size_t bytes = 0;
  };
  static constexpr size_t kKinds = 3;

  Loss& Add(OutputKind kind, const std::string& file, const std::string& reason, size_t bytes);

  std::array<Loss, kKinds> losses_;
  std::string failure_;
};

}  // namespace muster::output

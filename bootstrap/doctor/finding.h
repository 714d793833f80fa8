// The result of `muster doctor` for one subject. Values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace muster::doctor {

enum class Health : uint8_t {
  kOk,
  kNote,     // muster works; something costs time, safety or size
  kProblem,  // a job that starts here now would fail
};

struct Finding {
  std::string subject;  // "munge"
  Health health = Health::kOk;
  std::string found;                                       // the fact
  std::string cost;                                        // its consequence for a job; empty: none
  std::string remedy;                                      // the remedy; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  // for --json: name and value

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace muster::doctor

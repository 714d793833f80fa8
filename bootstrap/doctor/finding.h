// What `muster doctor` has found out about one subject. Values.
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
  std::string found;                                       // what there is
  std::string cost;                                        // what that means for a job; empty: nothing
  std::string remedy;                                      // what to do; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  // for --json: name and value

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace muster::doctor

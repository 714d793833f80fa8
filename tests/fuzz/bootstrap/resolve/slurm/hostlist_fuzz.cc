// Host lists: the names are those of Slurm's own library, in its order, wherever both take the list.
//
// The library (22.05.8) gets only what muster has taken: it makes nonsense of unbalanced brackets and writes
// an error line for every list that it refuses. It takes no suffix after a bracket, a newline for a part of a
// name, and turns a number of more than 19 digits into another one.
#include "bootstrap/resolve/slurm/hostlist.h"
#include "comm/base/lists.h"
#include "tests/bootstrap/resolve/slurm/by_slurm.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

// A longer list costs time and shows nothing new.
constexpr size_t kMostCompared = 5000;

bool HasLongNumber(std::string_view text) {
  constexpr size_t kLongest = 18;
  size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kLongest) return true;
  }
  return false;
}

void FuzzOne(ByteView input) {
  const std::string_view text = AsText(input);
  const auto names = resolve::ExpandHostlist(text);
  if (!names) {
    Require(names.error().code == Code::kBadEnvironment, "{} is a bad environment", names.error().message);
    Require(names.error().message.size() < text.size() + 500, "the message is short");
    return;
  }
  Require(!names->empty(), "a list has names");
  const auto again = resolve::ExpandHostlist(FormatNodes(*names));
  Require(again && *again == *names, "\"{}\" is read back", FormatNodes(*names));
  if (names->size() > kMostCompared || HasLongNumber(text)) return;
  if (text.find_first_of(std::string_view("\0\n", 2)) != std::string_view::npos) return;
  const std::vector<std::string> theirs = resolve::BySlurm(std::string(text));
  Require(theirs.empty() || theirs == *names, "Slurm expands \"{}\" to {} names, as muster does to {}", text,
          theirs.size(), names->size());
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text : {"gpu[01-04,07],login1",
                           "r[1-3,5,09-11]",
                           "n[1,01,001]",
                           "n[9-010]",
                           "rack[1-2]n[01-02]",
                           "x[0-1]y[0-1]z[0-1]",
                           "a[0-1]b[2-3]c[4-5]d[6-7]",
                           "a,b,a",
                           "a[1-2] b3\tc4\nd",
                           "n1-3",
                           "r[3,1-2]",
                           "node[0,3-4,8],linux,linux[2,5],node[4,12,15],linux[8,23]",
                           "n[098-101]",
                           "n[1-2,5].example.com",
                           "n[1-3",
                           "n1-3]",
                           "n[1[2]]",
                           "n[1-4:2]",
                           "n[3-1]",
                           "n[1--3]",
                           "n[]",
                           "n[1-2,]",
                           "n[0-65535]",
                           "n[0-65536]",
                           "n[1-99999999999999999999]",
                           "a[0-65535]b[0-65535]",
                           "999,0001",
                           "x1000c0s[0-1]b0n[0-3]"}) {
    seeds.push_back(ToBytes(text));
  }
  return seeds;
}

std::vector<std::string> Words() {
  return {"[",       "]",   ",",    "-",     "[1-3]", "[01-12]", "[9-010]",
          "[0,2,4]", "gpu", "rack", "65535", "00",    " ",       "\t"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz

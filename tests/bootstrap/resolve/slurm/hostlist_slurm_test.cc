// The expansion is the one of Slurm's own library, name by name, wherever both take the input. (Releases
// before 23.11 take no suffix after a bracket, and some take unbalanced brackets; those have their own
// tests.)
#include <gtest/gtest.h>

#include <random>

#include "bootstrap/resolve/slurm/hostlist.h"
#include "comm/base/lists.h"
#include "tests/bootstrap/resolve/slurm/by_slurm.h"

// Some releases of Slurm's library forget what they have parsed; leaks of ours still count.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libslurm"; }

namespace muster::resolve {
namespace {

void ExpectTheSame(const std::string& text) {
  const auto ours = ExpandHostlist(text);
  const auto theirs = BySlurm(text);
  if (!ours || theirs.empty()) return;
  EXPECT_EQ(*ours, theirs) << text;
}

TEST(HostlistLikeSlurm, OfTheTable) {
  for (const char* text :
       {"r[1-3,5,09-11]", "n[1,01,001]", "n[9-010]", "n[09-10]", "rack[1-2]n[01-02]", "x[0-1]y[0-1]z[0-1]",
        "a[0-1]b[2-3]c[4-5]d[6-7]", "a,b,a", "a[1-2] b3", "n1-3", "r[3,1-2]", "host[1-3],host5", "two[1-2]",
        "node[0,3-4,8],linux,linux[2,5],node[4,12,15],linux[8,23]", "n[098-101]"}) {
    const auto ours = ExpandHostlist(text);
    ASSERT_TRUE(ours) << text;
    EXPECT_EQ(*ours, BySlurm(text)) << text;
  }
}

class Generator {
 public:
  std::string List() {
    std::string list;
    for (int i = Pick(1, 4); i > 0; --i) list += (list.empty() ? "" : ",") + Name();
    return list;
  }

 private:
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  std::string Number(int value) {
    std::string digits = std::to_string(value);
    return std::string(static_cast<size_t>(Pick(0, 2)), '0') + digits;
  }

  std::string Bracket() {
    std::string text = "[";
    for (int i = Pick(1, 3); i > 0; --i) {
      const int low = Pick(0, 120);
      if (text.size() > 1) text += ',';
      text += Number(low);
      if (Pick(0, 1) == 1) text += "-" + std::to_string(low + Pick(0, 12));
    }
    return text + "]";
  }

  std::string Name() {
    static constexpr const char* kPrefixes[] = {"n", "gpu", "rack-a", "x1c", "node.", "r0"};
    std::string name = kPrefixes[Pick(0, 5)];
    for (int i = Pick(0, 3); i > 0; --i) name += Bracket() + (i > 1 ? kPrefixes[Pick(0, 5)] : "");
    return name;
  }

  std::mt19937 random_{20240607};  // fixed: a failure can be run again
};

TEST(HostlistLikeSlurm, OfRandomLists) {
  Generator generator;
  int compared = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string text = generator.List();
    const auto ours = ExpandHostlist(text);
    ASSERT_TRUE(ours) << text;
    const auto theirs = BySlurm(text);
    ASSERT_EQ(*ours, theirs) << text;
    ASSERT_EQ(BySlurm(FormatNodes(*ours)), theirs) << FormatNodes(*ours);
    ++compared;
  }
  EXPECT_EQ(compared, 1500);
}

// Bytes from the alphabet of host lists in any order: whatever both accept, both read alike.
TEST(HostlistLikeSlurm, OfRandomBytes) {
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "an[[]]--,,0123 9";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t n = 1 + random() % 14; n > 0; --n) text += kAlphabet[random() % kAlphabet.size()];
    if (ExpandHostlist(text)) ++accepted;
    ExpectTheSame(text);
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace muster::resolve

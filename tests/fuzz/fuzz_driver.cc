// The short run: every seed, then a fixed number of deterministic mutations of them, as a test.
//
//     TARGET --executions=N [--random_seed=N] [SEED FILE]...
//
// An input that crashes, or takes a minute, is printed in hexadecimal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "comm/base/parse.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/seed_files.h"

// Of the sanitizers, if they are linked.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace muster::fuzz {
namespace {

constexpr unsigned kLongestSeconds = 60;

struct Options {
  uint32_t random_seed = 20240607;
  uint64_t executions = 0;
  std::vector<std::string> files;
};

// A signal handler has no other way to know.
Options options;
ByteView current;

void PrintCurrent() {
  std::string text = "the input, in hexadecimal: ";
  for (const uint8_t byte : current) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  text += '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void OnCrash(int number) {
  PrintCurrent();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void Execute(ByteView input) {
  current = input;
  alarm(kLongestSeconds);
  TheTarget().one(input);
  alarm(0);
}

std::vector<Bytes> AllSeeds() {
  std::vector<Bytes> seeds = ReadSeedFiles(options.files);
  if (TheTarget().seeds != nullptr) {
    for (Bytes& seed : TheTarget().seeds()) seeds.push_back(std::move(seed));
  }
  return seeds;
}

TEST(Fuzz, Seeds) {
  const std::vector<Bytes> seeds = AllSeeds();
  ASSERT_FALSE(seeds.empty());
  Execute({});
  for (const Bytes& seed : seeds) Execute(seed);
  fmt::print("{} executions: the seeds\n", seeds.size() + 1);
}

TEST(Fuzz, MutationsOfTheSeeds) {
  ASSERT_GT(options.executions, 0u);
  Mutator mutator(options.random_seed, AllSeeds(),
                  TheTarget().words == nullptr ? std::vector<std::string>{} : TheTarget().words());
  for (uint64_t i = 0; i < options.executions; ++i) Execute(mutator.Next());
  fmt::print("{} executions: mutations, --random_seed={}\n", options.executions, options.random_seed);
}

bool Parse(std::string_view argument) {
  constexpr std::string_view kExecutions = "--executions=";
  constexpr std::string_view kRandomSeed = "--random_seed=";
  if (argument.starts_with(kExecutions)) {
    options.executions = ParseInteger<uint64_t>(argument.substr(kExecutions.size())).value_or(0);
    return options.executions > 0;
  }
  if (argument.starts_with(kRandomSeed)) {
    const auto number = ParseInteger<uint32_t>(argument.substr(kRandomSeed.size()));
    options.random_seed = number.value_or(0);
    return number.has_value();
  }
  options.files.emplace_back(argument);
  return !argument.starts_with("--");
}

}  // namespace
}  // namespace muster::fuzz

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (muster::fuzz::Parse(argv[i])) continue;
    fmt::print(stderr, "{}: not understood\n", argv[i]);
    return 64;
  }
  for (const int number : {SIGABRT, SIGALRM}) std::signal(number, muster::fuzz::OnCrash);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(muster::fuzz::PrintCurrent);
  } else {
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, muster::fuzz::OnCrash);
  }
  return RUN_ALL_TESTS();
}

// One fuzz target: a parser of bytes from outside, and what must hold whatever it gets. Each *_fuzz.cc of
// this folder defines one; fuzz_driver.cc (a bounded, deterministic test) or libFuzzer (libfuzzer_driver.cc)
// calls it.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/bytes.h"

namespace muster::fuzz {

struct FuzzTarget {
  // Aborts (Require) if a property does not hold; must not keep anything from one input to the next.
  void (*one)(ByteView input);
  // Beside the files in seeds/: inputs that are better written as code. May be null.
  std::vector<Bytes> (*seeds)() = nullptr;
  // Bytes for mutations, because chance would not find them. May be null.
  std::vector<std::string> (*words)() = nullptr;
};

// Defined once by each target.
FuzzTarget TheTarget();

template <typename... Args>
void Require(bool holds, fmt::format_string<Args...> property, Args&&... args) {
  if (holds) return;
  fmt::print(stderr, "does not hold: {}\n", fmt::format(property, std::forward<Args>(args)...));
  std::abort();
}

inline Bytes ToBytes(std::string_view text) {
  const ByteView view = AsBytes(text);
  return {view.begin(), view.end()};
}

}  // namespace muster::fuzz

// The handwritten digits: 8x8 grey images and what was written, read from a CSV file.
//
// Format: one image a line, 64 pixels (0 to 16) and its label (0 to 9), commas between, nothing else.
// deploy/examples/data names its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::examples {

inline constexpr size_t kPixels = 64;

// A value. The images are contiguous, as a device kernel needs them too.
struct Digits {
  std::vector<uint8_t> pixels;  // size() * kPixels
  std::vector<uint8_t> labels;

  size_t size() const { return labels.size(); }
  const uint8_t* image(size_t row) const { return pixels.data() + row * kPixels; }

  friend bool operator==(const Digits&, const Digits&) = default;
};

// `name` is what errors call the text: "NAME:LINE: ...". Error: kConfiguration for anything that is not the
// format above, and for fewer than two images (none would have a neighbour).
Result<Digits> ParseDigits(std::string_view text, std::string_view name);

// Also kSystem if the file cannot be read. Blocks for as long as the file system does.
Result<Digits> LoadDigits(const std::string& path);

// The same on two ranks if and only if they hold the same images and labels (FNV-1a, 64 bits).
uint64_t Digest(const Digits& digits);

}  // namespace muster::examples

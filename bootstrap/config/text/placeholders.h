// Placeholders in texts of the configuration: values that differ between programs, or between items. Pure.
//
//   ${name}    in run.env and run.expect: one of Placeholders
//   $${        ${ itself; every other $ is itself
//   {name}     in the texts of a map (bootstrap/map), in which {{ and }} are braces
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/error.h"

namespace muster::config {

struct Placeholder {
  std::string_view name;
  std::string_view means;  // for the reference
};
std::span<const Placeholder> Placeholders();

// Which of them a text has.
enum class PlaceholderStyle : uint8_t {
  kDollar,  // ${name}; braces without a dollar are themselves
  kBraces,  // {name}
  kBoth,    // ${name} and {name}
};

// A text is a sequence of these: literal text, then a placeholder.
struct TextPiece {
  std::string literal;
  std::string name;
  bool named = false;  // off: there is no placeholder

  friend bool operator==(const TextPiece&, const TextPiece&) = default;
};

// Error: kConfiguration: a placeholder that is not closed, a brace that is part of none.
Result<std::vector<TextPiece>> CutPlaceholders(std::string_view text, PlaceholderStyle style);

// Error: kConfiguration: a ${name} that is none of Placeholders, with the nearest, or a ${ that is not closed.
Status CheckPlaceholders(std::string_view text);

// `text` has passed CheckPlaceholders. `value` is called for names of Placeholders only.
std::string FillPlaceholders(std::string_view text,
                             const std::function<std::string(std::string_view name)>& value);

}  // namespace muster::config

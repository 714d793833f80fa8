// ${rank} and its like in the values of run.env: what differs from program to program. Pure.
//
//   ${name}    one of Placeholders
//   $${        ${ itself; every other $ is itself
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "comm/base/error.h"

namespace muster::config {

struct Placeholder {
  std::string_view name;
  std::string_view means;  // for the reference
};
std::span<const Placeholder> Placeholders();

// Error: kConfiguration: a name that is none of them, with the nearest, or a ${ that is not closed.
Status CheckPlaceholders(std::string_view text);

// `text` has passed CheckPlaceholders. `value` is asked for names of Placeholders only.
std::string FillPlaceholders(std::string_view text,
                             const std::function<std::string(std::string_view name)>& value);

}  // namespace muster::config

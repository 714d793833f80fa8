// Whether text is UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::config {

// The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF); text.size() if there is none.
size_t FirstInvalidUtf8(std::string_view text);

}  // namespace muster::config

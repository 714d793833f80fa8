#include "comm/socket/shm/copy.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace muster::socket {
namespace {

#if defined(__SSE2__)
constexpr size_t kLine = 4 * sizeof(__m128i);
// Up to here the C library does not use `rep movsb`.
constexpr size_t kShortCopy = 1024;

template <bool uncached>
void CopyLines(uint8_t* to, const uint8_t* from, size_t lines) {
  for (size_t line = 0; line < lines; ++line) {
    const __m128i* in = reinterpret_cast<const __m128i*>(from + line * kLine);
    __m128i* out = reinterpret_cast<__m128i*>(to + line * kLine);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    if constexpr (uncached) {
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    } else {
      _mm_store_si128(out, a);
      _mm_store_si128(out + 1, b);
      _mm_store_si128(out + 2, c);
      _mm_store_si128(out + 3, d);
    }
  }
  if constexpr (uncached) _mm_sfence();
}

// Whole lines of the destination, and the remainders at both ends.
void CopyLong(uint8_t* to, const uint8_t* from, size_t bytes, bool uncached) {
  const size_t misaligned = reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t head = misaligned == 0 ? 0 : kLine - misaligned;
  const size_t lines = (bytes - head) / kLine;
  const size_t tail = head + lines * kLine;
  std::memcpy(to, from, head);
  uncached ? CopyLines<true>(to + head, from + head, lines) : CopyLines<false>(to + head, from + head, lines);
  std::memcpy(to + tail, from + tail, bytes - tail);
}
#endif

}  // namespace

void CopyBytes(uint8_t* to, const uint8_t* from, size_t bytes, [[maybe_unused]] bool uncached) {
  if (bytes == 0 || to == from) return;
#if defined(__SSE2__)
  if (bytes > kShortCopy) return CopyLong(to, from, bytes, uncached);
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace muster::socket

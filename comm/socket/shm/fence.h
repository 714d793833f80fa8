// Fences between what is atomic itself; so that ThreadSanitizer does not follow them takes nothing from it.
#pragma once

namespace muster::socket {

#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
inline void FenceAll() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void FenceAcquire() { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
inline void FenceRelease() { __atomic_thread_fence(__ATOMIC_RELEASE); }
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace muster::socket

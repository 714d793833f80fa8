#include "tests/simulation/machine/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace muster::simulation {
namespace {

constexpr size_t kGrain = 16;
constexpr size_t kSmall = 1024;  // with the header; larger ones are the C library's
constexpr size_t kChunk = size_t{1} << 20;
// The kernel hands over as many pages in one call.
constexpr size_t kStep = size_t{1} << 17;

struct alignas(kGrain) Header {
  size_t size;  // bytes, and its generation
  Account* account;

  size_t bytes() const { return size & kBytes; }
  // With the header, and room for the link of a free one.
  size_t total() const { return TotalOf(bytes()); }
  static size_t TotalOf(size_t bytes) {
    return sizeof(Header) + std::max((bytes + kGrain - 1) / kGrain * kGrain, kGrain);
  }
  Header*& next() { return *reinterpret_cast<Header**>(this + 1); }

  static constexpr int kBits = 48;
  static constexpr size_t kBytes = (size_t{1} << kBits) - 1;
};

Account freed;  // the account of a free one

// All have static storage: they are used before the first constructor runs.
std::array<Header*, kSmall / kGrain + 1> free_blocks{};
char* unused = nullptr;   // of the last chunk
char* at_hand = nullptr;  // the end of its pages that the kernel has handed over
char* chunk_end = nullptr;
size_t generation = 0;

void Extend(size_t total) {
  if (unused == nullptr || unused + total > chunk_end) {
    void* const chunk =
        mmap(nullptr, kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED) std::abort();
    unused = at_hand = static_cast<char*>(chunk);
    chunk_end = unused + kChunk;
  }
  // An older kernel refuses it, and hands over a page at a time.
  madvise(at_hand, kStep, MADV_POPULATE_WRITE);
  at_hand += kStep;
}

Header* TakeSmall(size_t total) {
  Header*& first = free_blocks[total / kGrain];
  if (first != nullptr) return std::exchange(first, first->next());
  if (unused == nullptr || unused + total > at_hand) Extend(total);
  return reinterpret_cast<Header*>(std::exchange(unused, unused + total));
}

void* Allocate(size_t bytes) {
  const size_t total = Header::TotalOf(bytes);
  auto* const header = total <= kSmall ? TakeSmall(total) : static_cast<Header*>(std::malloc(total));
  if (header == nullptr) std::abort();
  Account* const account = TheAccount();
  *header = {bytes | generation << Header::kBits, account};
  if (account != nullptr) {
    account->live += static_cast<ptrdiff_t>(bytes);
    account->peak = std::max(account->peak, account->live);
  }
  return header + 1;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  Header* const header = static_cast<Header*>(memory) - 1;
  if (header->account == &freed) {
    fputs("memory is freed twice\n", stderr);
    std::abort();
  }
  if (header->account != nullptr) header->account->live -= static_cast<ptrdiff_t>(header->bytes());
  const size_t total = header->total();
  if (total > kSmall) return std::free(header);
  header->account = &freed;
  if (header->size >> Header::kBits == generation)
    header->next() = std::exchange(free_blocks[total / kGrain], header);
}

}  // namespace

Account*& TheAccount() {
  static Account* account = nullptr;
  return account;
}

void BeginWithFreshMemory() {
  ++generation;
  free_blocks = {};
  unused = at_hand = chunk_end = nullptr;
}

}  // namespace muster::simulation

void* operator new(size_t bytes) { return muster::simulation::Allocate(bytes); }
void* operator new[](size_t bytes) { return muster::simulation::Allocate(bytes); }
void operator delete(void* memory) noexcept { muster::simulation::Free(memory); }
void operator delete[](void* memory) noexcept { muster::simulation::Free(memory); }
void operator delete(void* memory, size_t) noexcept { muster::simulation::Free(memory); }
void operator delete[](void* memory, size_t) noexcept { muster::simulation::Free(memory); }

#include "tests/simulation/machine/memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace muster::simulation {
namespace {

struct alignas(16) Header {
  size_t bytes;
  Account* account;
};

void* Allocate(size_t bytes) {
  auto* header = static_cast<Header*>(std::malloc(sizeof(Header) + bytes));
  if (header == nullptr) std::abort();
  Account* const account = TheAccount();
  *header = {bytes, account};
  if (account != nullptr) {
    account->live += static_cast<ptrdiff_t>(bytes);
    account->peak = std::max(account->peak, account->live);
  }
  return header + 1;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  Header* const header = static_cast<Header*>(memory) - 1;
  if (header->account != nullptr) {
    header->account->live -= static_cast<ptrdiff_t>(header->bytes);
  }
  std::free(header);
}

}  // namespace

Account*& TheAccount() {
  static Account* account = nullptr;
  return account;
}

}  // namespace muster::simulation

void* operator new(size_t bytes) { return muster::simulation::Allocate(bytes); }
void* operator new[](size_t bytes) { return muster::simulation::Allocate(bytes); }
void operator delete(void* memory) noexcept { muster::simulation::Free(memory); }
void operator delete[](void* memory) noexcept { muster::simulation::Free(memory); }
void operator delete(void* memory, size_t) noexcept { muster::simulation::Free(memory); }
void operator delete[](void* memory, size_t) noexcept { muster::simulation::Free(memory); }

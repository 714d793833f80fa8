#include "bootstrap/check/gpu/gpu_check.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <ranges>
#include <vector>

#include "bootstrap/check/findings/units.h"
#include "bootstrap/check/gpu/driver.h"
#include "bootstrap/check/gpu/kernels.h"
#include "bootstrap/check/gpu/memory_errors.h"
#include "comm/base/parse.h"
#include "comm/system/bounded_call.h"
#include "comm/system/proc_file.h"

namespace muster::check {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;
constexpr size_t kFewBytes = size_t{16} << 20;
constexpr size_t kShareOfFree = 8;
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksForProcessor = 32;
constexpr int kRounds = 6;
constexpr int kFewRounds = 2;
// Each bit of the memory has both values.
constexpr std::array<uint32_t, 2> kMasks = {0, ~uint32_t{0}};
// Elements of the two matrices repeat after as many rows and columns.
constexpr unsigned kPeriod = 16;
constexpr unsigned kTile = 64;  // the size of the product is a multiple of it, and of kPeriod
constexpr unsigned kLargestProduct = 4096;

uint64_t PerSecond(double amount, Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return seconds > 0 ? static_cast<uint64_t>(amount / seconds) : 0;
}

float LeftAt(unsigned row, unsigned column) { return static_cast<float>((3 * row + 5 * column) % kPeriod); }
float RightAt(unsigned row, unsigned column) { return static_cast<float>((7 * row + column) % kPeriod); }

// Of size x size; an element depends on its row and column modulo kPeriod alone.
class ExpectedProduct {
 public:
  explicit ExpectedProduct(unsigned size) {
    for (unsigned row = 0; row < kPeriod; ++row) {
      for (unsigned column = 0; column < kPeriod; ++column) {
        float sum = 0;
        for (unsigned k = 0; k < kPeriod; ++k) sum += LeftAt(row, k) * RightAt(k, column);
        elements_[row][column] = sum * static_cast<float>(size / kPeriod);
      }
    }
  }
  float At(unsigned row, unsigned column) const { return elements_[row % kPeriod][column % kPeriod]; }

 private:
  std::array<std::array<float, kPeriod>, kPeriod> elements_ = {};
};

class Checker {
 public:
  Checker(const GpuDriver& driver, bool rates, GpuFacts& facts)
      : driver_(driver), rates_(rates), facts_(facts) {}

  Status CheckMemory() {
    MUSTER_TRY(const size_t free, driver_.FreeBytes());
    const size_t bytes = std::min(rates_ ? kMostBytes : kFewBytes, free / kShareOfFree);
    const auto words = static_cast<unsigned>(bytes / sizeof(uint32_t));
    facts_.memory_taken = words == 0;
    if (words == 0) return Fail(Code::kSystem, "the GPU has no free memory");
    facts_.words = words;
    MUSTER_TRY(const GpuMemory memory, driver_.Allocate(bytes));
    MUSTER_TRY(const GpuMemory wrong, driver_.Allocate(sizeof(uint32_t)));
    for (int round = 0; round < Rounds(); ++round) {
      MUSTER_CHECK(TryWords(memory, wrong, words, kMasks[static_cast<size_t>(round) % kMasks.size()]));
    }
    return {};
  }

  // Every multiprocessor has work.
  Status CheckProduct() {
    unsigned tiles = 1;
    while (tiles * tiles < driver_.processors()) ++tiles;
    const unsigned size = std::min(kTile * tiles, kLargestProduct);
    const size_t elements = size_t{size} * size;
    std::vector<float> left(elements);
    std::vector<float> right(elements);
    for (unsigned i = 0; i < elements; ++i) {
      left[i] = LeftAt(i / size, i % size);
      right[i] = RightAt(i / size, i % size);
    }
    MUSTER_TRY(const GpuMemory a, Upload(left));
    MUSTER_TRY(const GpuMemory b, Upload(right));
    facts_.elements = elements;
    for (int round = 0; round < Rounds(); ++round) MUSTER_CHECK(TryProduct(a, b, size));
    return {};
  }

 private:
  int Rounds() const { return rates_ ? kRounds : kFewRounds; }

  void KeepBest(uint64_t& best, double amount, Duration time) const {
    if (rates_) best = std::max(best, PerSecond(amount, time));
  }

  Status TryWords(const GpuMemory& memory, const GpuMemory& wrong, unsigned words, uint32_t mask) {
    const Grid grid = {driver_.processors() * kBlocksForProcessor, kThreads};
    uint64_t address = memory.address();
    unsigned stride = grid.size();
    std::array<void*, 4> fill = {&address, &words, &mask, &stride};
    MUSTER_TRY(const Duration wrote, driver_.Run("check_fill", grid, fill));
    uint32_t count = 0;
    MUSTER_CHECK(driver_.ToGpu(wrong, std::as_bytes(std::span(&count, 1))));
    uint64_t counter = wrong.address();
    std::array<void*, 5> compare = {&address, &words, &mask, &stride, &counter};
    MUSTER_TRY(const Duration read, driver_.Run("check_compare", grid, compare));
    MUSTER_CHECK(driver_.FromGpu(std::as_writable_bytes(std::span(&count, 1)), wrong));
    facts_.wrong_words = std::max<uint64_t>(facts_.wrong_words, count);
    const double bytes = 4.0 * words;
    KeepBest(facts_.write_bytes_per_s, bytes, wrote);
    KeepBest(facts_.read_bytes_per_s, bytes, read);
    return {};
  }

  Result<GpuMemory> Upload(const std::vector<float>& values) {
    MUSTER_TRY(GpuMemory memory, driver_.Allocate(values.size() * sizeof(float)));
    MUSTER_CHECK(driver_.ToGpu(memory, std::as_bytes(std::span(values))));
    return memory;
  }

  // Into memory that held another value, so that an element that is not written is found.
  Status TryProduct(const GpuMemory& left, const GpuMemory& right, unsigned size) {
    std::vector<float> product(size_t{size} * size, -1);
    MUSTER_TRY(const GpuMemory memory, Upload(product));
    uint64_t addresses[] = {left.address(), right.address(), memory.address()};
    std::array<void*, 4> arguments = {&addresses[0], &addresses[1], &addresses[2], &size};
    const Grid grid = {static_cast<unsigned>(product.size() / kThreads), kThreads};
    MUSTER_TRY(const Duration took, driver_.Run("check_product", grid, arguments));
    MUSTER_CHECK(driver_.FromGpu(std::as_writable_bytes(std::span(product)), memory));
    const ExpectedProduct expected(size);
    uint64_t wrong = 0;
    for (unsigned i = 0; i < product.size(); ++i) wrong += product[i] != expected.At(i / size, i % size);
    facts_.wrong_elements = std::max(facts_.wrong_elements, wrong);
    KeepBest(facts_.product_flops, 2.0 * size * size * size, took);
    return {};
  }

  const GpuDriver& driver_;
  const bool rates_;
  GpuFacts& facts_;
};

// " by python3 (process 4711, 78 GiB)". Empty if they are not known, as in a container with its own process numbers.
std::string UsersOf(const std::string& uuid) {
  constexpr size_t kNamed = 4;
  std::vector<GpuUser> users = ReadGpuUsers(uuid).value_or(std::vector<GpuUser>());
  std::erase_if(users, [](const GpuUser& user) { return user.pid == getpid(); });
  std::ranges::sort(users, std::greater(), &GpuUser::bytes);
  std::string text;
  for (const GpuUser& user : users | std::views::take(kNamed)) {
    text += fmt::format("{}{} (process {}", text.empty() ? " by " : ", ", ProcessName(user.pid), user.pid);
    text += user.bytes == kUnknown ? ")" : fmt::format(", {})", ShowBytes(user.bytes));
  }
  return text + (users.size() > kNamed ? fmt::format(" and {} more", users.size() - kNamed) : "");
}

Status CheckNow(bool rates, GpuFacts& facts) {
  MUSTER_TRY(const auto driver, GpuDriver::Open(facts.uuid, kKernels));
  if (const auto errors = ReadMemoryErrors(driver->pci())) {
    facts.errors = *errors;
  } else {
    facts.errors_problem = errors.error().message;
  }
  Checker checker(*driver, rates, facts);
  MUSTER_CHECK(checker.CheckMemory());
  return checker.CheckProduct();
}

}  // namespace

GpuFacts CheckGpu(const GpuToCheck& gpu, bool rates, Duration patience, int stop_fd) {
  GpuFacts facts;
  facts.uuid = gpu.uuid;
  facts.name = gpu.name;
  const auto found = std::make_shared<GpuFacts>(facts);
  const auto check = [found, rates] {
    const Status status = CheckNow(rates, *found);
    if (status) return;
    found->problem = status.error().message;
    found->memory_taken = found->memory_taken || IsOutOfMemory(status.error());
    if (found->memory_taken)
      found->problem = fmt::format("its memory is taken{}: {}", UsersOf(found->uuid), found->problem);
  };
  const Error late{Code::kDeadline,
                   fmt::format("its checks did not end within {}", FormatDuration(patience))};
  const Status ended = RunWithin(Deadline::After(patience), late, check, stop_fd);
  if (ended) return *found;
  facts.problem = ToString(ended.error());
  return facts;
}

}  // namespace muster::check

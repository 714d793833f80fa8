// How fast the loops of the reductions are, for each variant that this processor can run: one operand in the
// nearest caches, as a piece that has just arrived is, and both from memory.
//   reduce_kernels_bench --benchmark_filter=f32
// One bytes_per_second counts each element of the result once.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <vector>

#include "comm/socket/reduce/reduce_kernels.h"
#include "comm/socket/reduce/reduce_variants.h"

namespace muster {
namespace {

constexpr DataType kTypes[] = {DataType::kI8,   DataType::kU8,  DataType::kI32,
                               DataType::kI64,  DataType::kU64, DataType::kF16,
                               DataType::kBF16, DataType::kF32, DataType::kF64};
constexpr ReduceOp kOperations[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin};
constexpr int64_t kLengths[] = {64 << 10, 16 << 20};

// Aligned for every type.
std::vector<double> Memory(size_t bytes) { return std::vector<double>(bytes / sizeof(double), 1.0); }

void Report(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * state.range(0)); }

void CombineTwo(benchmark::State& state, const socket::ReduceVariant& variant, DataType type,
                ReduceOp operation) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  std::vector<double> own = Memory(bytes);
  const std::vector<double> other = Memory(bytes);
  for (auto _ : state) {
    variant.combine(type, operation, own.data(), own.data(), other.data(), bytes / SizeOf(type));
    benchmark::ClobberMemory();
  }
  Report(state);
}

void Divide(benchmark::State& state, const socket::ReduceVariant& variant, DataType type) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  std::vector<double> data = Memory(bytes);
  for (auto _ : state) {
    variant.divide(type, data.data(), bytes / SizeOf(type), 3);
    benchmark::ClobberMemory();
  }
  Report(state);
}

void Convert(benchmark::State& state, const socket::ReduceVariant& variant, DataType type, bool widen) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  std::vector<double> narrow = Memory(bytes);
  std::vector<float> wide(bytes / 2, 1.0F);
  for (auto _ : state) {
    if (widen) {
      variant.widen(type, narrow.data(), wide.data(), wide.size());
    } else {
      variant.narrow(type, wide.data(), narrow.data(), wide.size());
    }
    benchmark::ClobberMemory();
  }
  Report(state);
}

// As in shared memory: k ranks' elements straight into the result.
void CombineMany(benchmark::State& state, DataType type, int sources) {
  const size_t bytes = static_cast<size_t>(state.range(0));
  const std::vector<std::vector<double>> memory(static_cast<size_t>(sources), Memory(bytes));
  std::vector<const void*> pointers;
  for (const auto& source : memory) pointers.push_back(source.data());
  std::vector<double> out = Memory(bytes);
  for (auto _ : state) {
    socket::CombineAll(type, ReduceOp::kSum, out.data(), pointers, bytes / SizeOf(type));
    benchmark::ClobberMemory();
  }
  Report(state);
}

template <typename... Args>
void Register(const std::string& name, Args... args) {
  auto* registered = benchmark::RegisterBenchmark(name.c_str(), args...);
  for (const int64_t length : kLengths) registered->Arg(length);
}

void RegisterVariant(const socket::ReduceVariant& variant) {
  for (const DataType type : kTypes) {
    if (socket::WorkType(type) != type) {
      Register(fmt::format("widen/{}/{}", Name(type), variant.name), Convert, std::cref(variant), type, true);
      Register(fmt::format("narrow/{}/{}", Name(type), variant.name), Convert, std::cref(variant), type,
               false);
      continue;
    }
    for (const ReduceOp operation : kOperations) {
      Register(fmt::format("{}/{}/{}", Name(operation), Name(type), variant.name), CombineTwo,
               std::cref(variant), type, operation);
    }
    Register(fmt::format("divide/{}/{}", Name(type), variant.name), Divide, std::cref(variant), type);
  }
}

void RegisterAll() {
  for (const socket::ReduceVariant* variant : socket::UsableReduceVariants()) RegisterVariant(*variant);
  for (const int sources : {2, 4, 8}) {
    for (const DataType type : {DataType::kF32, DataType::kBF16, DataType::kF16}) {
      Register(fmt::format("sum_of_{}/{}", sources, Name(type)), CombineMany, type, sources);
    }
  }
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

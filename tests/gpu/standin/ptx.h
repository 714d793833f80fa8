// Runs kernels of NVIDIA's assembly language on this machine's processor, one thread after the other: as much
// of the language as nvcc makes of simple kernels (digits_kernel.cu, bootstrap/check/gpu/kernels.cu). Any
// other instruction is refused.
//
// Protocol source: Parallel Thread Execution ISA 6.3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::standin {

class PtxKernel {
 public:
  // The kernels in `text`. Empty if there is none, or anything in it is not known: *problem has what.
  static std::vector<PtxKernel> ParseAll(std::string_view text, std::string* problem);

  const std::string& name() const { return name_; }
  size_t parameters() const { return parameters_.size(); }
  // `arguments[i]` points to the i-th one, as for cuLaunchKernel. "Global" memory is this process's.
  void Run(unsigned blocks, unsigned threads, void* const* arguments) const;

 private:
  enum class Op {
    kLoadArgument,
    kMove,
    kMultiplyAdd,
    kCompare,
    kBranch,
    kAdd,
    kSubtract,
    kMultiply,
    kRemainder,
    kAnd,
    kXor,
    kShift,
    kSelect,
    kFloatMultiplyAdd,
    kAtomicAdd,
    kLoad,
    kStore,
    kReturn
  };
  enum class Test { kEqual, kNotEqual, kLess, kGreaterOrEqual };
  // A register, or a number (which is also what is added to an address).
  struct Operand {
    int reg = -1;
    int64_t number = 0;
  };
  struct Instruction {
    Op op = Op::kReturn;
    Test test = Test::kEqual;
    bool is_signed = false;
    int bits = 32;
    int guard = -1;  // the predicate's register
    std::vector<Operand> operands;
    size_t target = 0;
  };
  struct Thread {
    unsigned block = 0;
    unsigned threads = 0;
    unsigned index = 0;
  };

  PtxKernel();
  // False: some label is missing, or there is no instruction.
  bool Finish(std::string* problem);
  bool AddLine(std::string_view line, std::string* problem);
  bool AddInstruction(std::string_view line);
  bool Decode(const std::vector<std::string>& parts, Instruction& made) const;
  Operand OperandOf(std::string_view word);
  int RegisterOf(std::string_view name);
  template <typename Value>
  static uint64_t Compute(const Instruction& now, const Value& value);
  static bool Holds(const Instruction& now, uint64_t a, uint64_t b);
  void RunThread(const Thread& thread, void* const* arguments, std::vector<uint64_t>& registers) const;

  std::string name_;
  std::map<std::string, int, std::less<>> registers_;
  std::map<std::string, int, std::less<>> parameters_;
  std::map<std::string, size_t, std::less<>> labels_;
  std::vector<std::pair<size_t, std::string>> jumps_;  // to labels that may come later
  std::vector<Instruction> code_;
};

}  // namespace muster::standin

#include "tests/gpu/standin/ptx.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace muster::standin {
namespace {

// The special registers come first among all.
constexpr const char* kSpecial[] = {"%ntid.x", "%ctaid.x", "%tid.x"};

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t;") - begin + 1);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.emplace_back(Trim(part));
  return parts;
}

// Whole numbers of this width in the registers, which have 64 bits.
uint64_t CutTo(int bits, uint64_t value) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }

float FloatOf(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

// Of the low bytes, which come first.
uint64_t Load(size_t bytes, const void* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}
void Store(size_t bytes, uint64_t address, uint64_t value) {
  std::memcpy(std::bit_cast<void*>(address), &value, bytes);
}

int64_t SignedOf(int bits, uint64_t value) {
  if (bits == 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((CutTo(bits, value) ^ sign) - sign);
}

}  // namespace

PtxKernel::PtxKernel() {
  for (const char* special : kSpecial) RegisterOf(special);
}

std::vector<PtxKernel> PtxKernel::ParseAll(std::string_view text, std::string* problem) {
  std::vector<PtxKernel> kernels;
  std::istringstream lines{std::string(text)};
  for (std::string whole; std::getline(lines, whole);) {
    std::string_view line = Trim(whole);
    if (line.starts_with(".visible .entry ")) kernels.push_back(PtxKernel());
    // The text before the first kernel is its version.
    PtxKernel version;
    if (!(kernels.empty() ? version : kernels.back()).AddLine(line, problem)) return {};
  }
  for (PtxKernel& kernel : kernels) {
    if (!kernel.Finish(problem)) return {};
  }
  if (kernels.empty()) *problem = "no kernel";
  return kernels;
}

bool PtxKernel::Finish(std::string* problem) {
  for (const auto& [index, label] : jumps_) {
    const auto there = labels_.find(label);
    if (there == labels_.end()) return *problem = "no label " + label, false;
    code_[index].target = there->second;
  }
  if (code_.empty()) return *problem = "no instruction in " + name_, false;
  return true;
}

bool PtxKernel::AddLine(std::string_view line, std::string* problem) {
  std::string_view rest = line;
  if (Take(rest, ".visible .entry ")) {
    name_ = rest.substr(0, rest.find('('));
    return true;
  }
  if (Take(rest, ".param .u64 ") || Take(rest, ".param .u32 ")) {
    parameters_.emplace(rest.substr(0, rest.find(',')), static_cast<int>(parameters_.size()));
    return true;
  }
  for (const std::string_view known : {".version", ".target", ".address_size 64", ".reg", ".pragma", "//"}) {
    if (line.starts_with(known)) return true;
  }
  if (line.empty() || line == "{" || line == "}" || line == ")") return true;
  if (line.ends_with(':')) {
    labels_.emplace(line.substr(0, line.size() - 1), code_.size());
    return true;
  }
  if (AddInstruction(line)) return true;
  *problem = "not known: " + std::string(line);
  return false;
}

bool PtxKernel::AddInstruction(std::string_view line) {
  Instruction made;
  if (Take(line, "@")) {
    const size_t end = line.find_first_of(" \t");
    made.guard = RegisterOf(line.substr(0, end));
    line = Trim(line.substr(end));
  }
  const size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::vector<std::string> parts = Split(line.substr(0, end), '.');
  const std::string_view arguments = Trim(line.substr(end));
  if (!Decode(parts, made)) return false;
  if (made.op == Op::kBranch) {
    jumps_.emplace_back(code_.size(), arguments);
  } else {
    for (const std::string& word : Split(arguments, ',')) made.operands.push_back(OperandOf(word));
  }
  code_.push_back(std::move(made));
  return true;
}

// The name of an instruction: the operation, and its type.
bool PtxKernel::Decode(const std::vector<std::string>& parts, Instruction& made) const {
  const std::string& type = parts.back();
  made.is_signed = type.front() == 's';
  made.bits = std::atoi(type.c_str() + 1);
  std::string name;
  for (size_t i = 0; i + 1 < parts.size(); ++i) name += (i == 0 ? "" : ".") + parts[i];
  static const std::map<std::string, std::pair<Op, Test>> kKnown = {
      {"ld.param", {Op::kLoadArgument, {}}},
      {"mov", {Op::kMove, {}}},
      {"cvta.to.global", {Op::kMove, {}}},
      {"cvt.u64", {Op::kMove, {}}},
      {"mad.lo", {Op::kMultiplyAdd, {}}},
      {"setp.eq", {Op::kCompare, Test::kEqual}},
      {"setp.ne", {Op::kCompare, Test::kNotEqual}},
      {"setp.lt", {Op::kCompare, Test::kLess}},
      {"setp.ge", {Op::kCompare, Test::kGreaterOrEqual}},
      {"add", {Op::kAdd, {}}},
      {"sub", {Op::kSubtract, {}}},
      {"mul.lo", {Op::kMultiply, {}}},
      {"mul.wide", {Op::kMultiply, {}}},
      {"rem", {Op::kRemainder, {}}},
      {"and", {Op::kAnd, {}}},
      {"xor", {Op::kXor, {}}},
      {"shl", {Op::kShift, {}}},
      {"selp", {Op::kSelect, {}}},
      {"fma.rn", {Op::kFloatMultiplyAdd, {}}},
      {"atom.global.add", {Op::kAtomicAdd, {}}},
      {"ld.global", {Op::kLoad, {}}},
      {"ld.volatile.global", {Op::kLoad, {}}},
      {"st.global", {Op::kStore, {}}},
  };
  if (parts.size() == 1) {
    made.op = parts[0] == "bra" ? Op::kBranch : Op::kReturn;
    return parts[0] == "bra" || parts[0] == "ret";
  }
  const auto known = kKnown.find(name);
  if (known == kKnown.end()) return false;
  made.op = known->second.first;
  made.test = known->second.second;
  // A conversion must not have to extend a sign: nothing that is loaded or multiplied to more bits has one.
  const bool is_word = type == "u32" || type == "f32";
  if (made.op == Op::kLoad || made.op == Op::kStore) return type == "u8" || is_word;
  if (name == "mul.wide") return made.bits = 64, type == "u32";
  if (made.op == Op::kFloatMultiplyAdd) return type == "f32";
  if (made.op == Op::kRemainder || made.op == Op::kAtomicAdd) return type == "u32";
  if (type.front() == 'f' && made.op != Op::kMove) return false;
  return made.bits == 16 || made.bits == 32 || made.bits == 64;
}

// A register, a number, [%register+number] or [parameter].
PtxKernel::Operand PtxKernel::OperandOf(std::string_view word) {
  if (Take(word, "[")) word.remove_suffix(1);
  if (const auto parameter = parameters_.find(word); parameter != parameters_.end()) {
    return {-1, parameter->second};
  }
  Operand operand;
  if (word.starts_with('%')) {
    const size_t plus = std::min(word.find('+'), word.size());
    operand.reg = RegisterOf(word.substr(0, plus));
    word.remove_prefix(std::min(plus + 1, word.size()));
  }
  // "0f3F800000" is the bits of a float.
  const bool is_float = Take(word, "0f");
  operand.number = std::strtoll(std::string(word).c_str(), nullptr, is_float ? 16 : 10);
  return operand;
}

int PtxKernel::RegisterOf(std::string_view name) {
  return registers_.emplace(name, static_cast<int>(registers_.size())).first->second;
}

void PtxKernel::Run(unsigned blocks, unsigned threads, void* const* arguments) const {
  std::vector<uint64_t> registers(registers_.size());
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned index = 0; index < threads; ++index)
      RunThread({block, threads, index}, arguments, registers);
  }
}

void PtxKernel::RunThread(const Thread& thread, void* const* arguments,
                          std::vector<uint64_t>& registers) const {
  registers[0] = thread.threads;
  registers[1] = thread.block;
  registers[2] = thread.index;
  size_t next = 0;
  while (next < code_.size()) {
    const Instruction& now = code_[next++];
    if (now.guard >= 0 && registers[static_cast<size_t>(now.guard)] == 0) continue;
    if (now.op == Op::kReturn) return;
    if (now.op == Op::kBranch) {
      next = now.target;
      continue;
    }
    const auto value = [&](size_t i) {
      const Operand& operand = now.operands[i];
      const uint64_t base = operand.reg < 0 ? 0 : registers[static_cast<size_t>(operand.reg)];
      return base + static_cast<uint64_t>(operand.number);
    };
    const auto set = [&](uint64_t result) {
      registers[static_cast<size_t>(now.operands[0].reg)] = CutTo(now.bits, result);
    };
    const auto bytes = static_cast<size_t>(now.bits) / 8;
    if (now.op == Op::kLoadArgument) {
      set(Load(bytes, arguments[now.operands[1].number]));
    } else if (now.op == Op::kLoad) {
      set(Load(bytes, std::bit_cast<void*>(value(1))));
    } else if (now.op == Op::kStore) {
      Store(bytes, value(0), value(1));
    } else if (now.op == Op::kAtomicAdd) {
      const uint64_t before = Load(bytes, std::bit_cast<void*>(value(1)));
      Store(bytes, value(1), before + value(2));
      set(before);
    } else {
      set(Compute(now, value));
    }
  }
}

template <typename Value>
uint64_t PtxKernel::Compute(const Instruction& now, const Value& value) {
  switch (now.op) {
    case Op::kMove:
      return value(1);
    case Op::kMultiplyAdd:
      return value(1) * value(2) + value(3);
    case Op::kAdd:
      return value(1) + value(2);
    case Op::kSubtract:
      return value(1) - value(2);
    case Op::kMultiply:
      return value(1) * value(2);
    case Op::kRemainder:
      return value(1) % value(2);
    case Op::kAnd:
      return value(1) & value(2);
    case Op::kXor:
      return value(1) ^ value(2);
    case Op::kShift:
      return value(1) << value(2);
    case Op::kSelect:
      return value(3) != 0 ? value(1) : value(2);
    case Op::kFloatMultiplyAdd:
      // The product of two floats is exact in double; only the sum of it may round twice.
      return std::bit_cast<uint32_t>(static_cast<float>(
          double{FloatOf(value(1))} * double{FloatOf(value(2))} + double{FloatOf(value(3))}));
    default:
      return Holds(now, value(1), value(2)) ? 1 : 0;
  }
}

bool PtxKernel::Holds(const Instruction& now, uint64_t a, uint64_t b) {
  const uint64_t left = CutTo(now.bits, a);
  const uint64_t right = CutTo(now.bits, b);
  const bool less = now.is_signed ? SignedOf(now.bits, a) < SignedOf(now.bits, b) : left < right;
  switch (now.test) {
    case Test::kEqual:
      return left == right;
    case Test::kNotEqual:
      return left != right;
    case Test::kLess:
      return less;
    default:
      return !less;
  }
}

}  // namespace muster::standin

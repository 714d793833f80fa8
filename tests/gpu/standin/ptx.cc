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

// Whole numbers of so many bits in the registers, which have 64.
uint64_t CutTo(int bits, uint64_t value) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }

int64_t SignedOf(int bits, uint64_t value) {
  if (bits == 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((CutTo(bits, value) ^ sign) - sign);
}

}  // namespace

std::optional<PtxKernel> PtxKernel::Parse(std::string_view text, std::string* problem) {
  PtxKernel kernel;
  for (const char* special : kSpecial) kernel.RegisterOf(special);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!kernel.AddLine(Trim(line), problem)) return std::nullopt;
  }
  for (const auto& [index, label] : kernel.jumps_) {
    const auto there = kernel.labels_.find(label);
    if (there == kernel.labels_.end()) return *problem = "no label " + label, std::nullopt;
    kernel.code_[index].target = there->second;
  }
  if (kernel.name_.empty() || kernel.code_.empty()) return *problem = "no kernel", std::nullopt;
  return kernel;
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
  for (const std::string_view known : {".version", ".target", ".address_size 64", ".reg", "//"}) {
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

// The name of an instruction: what is done, and with which type.
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
      {"shl", {Op::kShift, {}}},
      {"ld.global", {Op::kLoad, {}}},
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
  // Bytes are all that is ever loaded and stored; a conversion must not have to extend a sign.
  if (made.op == Op::kLoad || made.op == Op::kStore) return type == "u8";
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
  operand.number = std::atoll(std::string(word).c_str());
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
    switch (now.op) {
      case Op::kLoadArgument: {
        uint64_t argument = 0;
        std::memcpy(&argument, arguments[now.operands[1].number], static_cast<size_t>(now.bits) / 8);
        set(argument);
        break;
      }
      case Op::kMove:
        set(value(1));
        break;
      case Op::kMultiplyAdd:
        set(value(1) * value(2) + value(3));
        break;
      case Op::kAdd:
        set(value(1) + value(2));
        break;
      case Op::kSubtract:
        set(value(1) - value(2));
        break;
      case Op::kShift:
        set(value(1) << value(2));
        break;
      case Op::kLoad:
        set(*std::bit_cast<const uint8_t*>(value(1)));
        break;
      case Op::kStore:
        *std::bit_cast<uint8_t*>(value(0)) = static_cast<uint8_t>(value(1));
        break;
      default:
        set(Holds(now, value(1), value(2)) ? 1 : 0);
    }
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

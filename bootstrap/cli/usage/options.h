// The options and arguments of one command.
//
// The only use of CLI11 for its definitions: each file that includes CLI11's header constructs eight validators at every
// start of the program, and takes seconds to compile.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace muster::cli {

// The program and its arguments: the last positional of a command.
inline constexpr const char* kProgramArgument = "CMD";

// One that was added; usable as long as its command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option OneOf(std::initializer_list<const char*> values) const;
  // May come several times; each value is taken when it is parsed.
  Option Repeatable() const;
  Option WithOptionalValue() const;
  Option Required() const;
  Option Needs(Option other) const;
  Option Excludes(Option other) const;

 private:
  CLI::Option* option_;
};

// Variables and functions must outlive the parsing. `names`: "-c,--config"; `value`: as a help page calls it, "FILE".
class Options {
 public:
  using Take = std::function<void(const std::string& value)>;

  // `command` must outlive this.
  explicit Options(CLI::App& command) : command_(command) {}

  [[nodiscard]] CLI::App& command() const { return command_; }

  // The heading of those that are added from now on: kProgram, ... of manual.h.
  void Under(const char* heading);

  Option Flag(const char* names, bool& variable, const char* text);
  Option Flag(const char* names, std::function<void()> take, const char* text);
  Option Text(const char* names, std::string& variable, const char* value, const char* text);
  Option Text(const char* names, Take take, const char* value, const char* text);
  // A whole number from `least` to `most`.
  Option Number(const char* names, int& variable, int least, int most, const char* value, const char* text);
  // A word at its place, without a name.
  Option Positional(const char* name, std::string& variable, const char* text);
  // The program and its arguments, into `words`.
  Option Program(std::shared_ptr<std::vector<std::string>> words);

 private:
  CLI::App& command_;
};

}  // namespace muster::cli

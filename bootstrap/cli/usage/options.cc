#include "bootstrap/cli/usage/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "bootstrap/cli/usage/program_words.h"
#include "comm/base/parse_integer.h"

namespace muster::cli {
namespace {

// CLI11's own check has a message without the text.
CLI::Validator NumberFrom(int least, int most) {
  const auto check = [least, most](const std::string& text) {
    const auto number = ParseInteger<int>(text);
    const bool fits = number && *number >= least && *number <= most;
    return fits ? std::string() : fmt::format("\"{}\" is not a number from {} to {}", text, least, most);
  };
  return {check, "", ""};
}

}  // namespace

Option Option::OneOf(std::initializer_list<const char*> values) const {
  return Option(
      option_->check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())).description("")));
}

Option Option::Repeatable() const { return Option(option_->take_all()->trigger_on_parse()); }

Option Option::WithOptionalValue() const { return Option(option_->expected(0, 1)); }

Option Option::Required() const { return Option(option_->required()); }

Option Option::Needs(Option other) const { return Option(option_->needs(other.option_)); }

Option Option::Excludes(Option other) const { return Option(option_->excludes(other.option_)); }

void Options::Under(const char* heading) { command_.option_defaults()->group(heading); }

Option Options::Flag(const char* names, bool& variable, const char* text) {
  return Option(command_.add_flag(names, variable, text));
}

Option Options::Flag(const char* names, std::function<void()> take, const char* text) {
  return Option(command_.add_flag_callback(names, std::move(take), text));
}

Option Options::Text(const char* names, std::string& variable, const char* value, const char* text) {
  return Option(command_.add_option(names, variable, text)->type_name(value));
}

Option Options::Text(const char* names, Take take, const char* value, const char* text) {
  return Option(command_.add_option_function<std::string>(names, take, text)->type_name(value));
}

Option Options::Number(const char* names, int& variable, int least, int most, const char* value,
                       const char* text) {
  return Option(command_.add_option(names, variable, text)->type_name(value)->check(NumberFrom(least, most)));
}

Option Options::Positional(const char* name, std::string& variable, const char* text) {
  return Text(name, variable, "", text);
}

Option Options::Program(std::shared_ptr<std::vector<std::string>> words) {
  command_.positionals_at_end();
  return Option(command_.add_option_function<std::vector<std::string>>(
      kProgramArgument,
      [words = std::move(words)](const std::vector<std::string>& marked) { *words = UnmarkProgram(marked); },
      "the program and its arguments, after -- and all options of muster"));
}

}  // namespace muster::cli

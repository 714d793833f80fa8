#include "bootstrap/cli/help/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/base/parse.h"

namespace muster::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kTextColumn = 26;
constexpr size_t kStatusColumn = 10;

// "  NAME   text", the text in a column of its own and below the name if that is long.
std::string Entry(std::string_view name, std::string_view text, size_t column, const Style& style) {
  std::string entry(kIndent, ' ');
  entry += style.Strong(name);
  const std::string body = Wrapped(text, column, style.width);
  const size_t used = kIndent + name.size();
  if (used + 2 > column) return entry + '\n' + body;
  return entry + body.substr(std::min(used, body.size()));
}

std::string Names(const OptionManual& option) {
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  if (names.empty()) return option.value;
  return option.value.empty() ? names : names + " " + option.value;
}

std::string OptionRows(std::span<const OptionManual> options, const Style& style) {
  std::string text;
  for (const OptionManual& option : options) text += Entry(Names(option), option.text, kTextColumn, style);
  return text;
}

std::string Section(std::string_view title, std::string_view body, const Style& style) {
  return body.empty() ? "" : fmt::format("\n{}\n{}", style.Strong(title), body);
}

// Never wrapped: a line is to be copied.
std::string Lines(std::string_view lines) {
  std::string text;
  for (const std::string_view line : Split(lines, '\n')) text.append(kIndent, ' ').append(line) += '\n';
  return text;
}

std::string Statuses(std::string_view lines, const Style& style) {
  if (lines.empty()) return {};
  std::string text;
  for (const std::string_view line : Split(lines, '\n')) {
    const size_t space = std::min(line.find(' '), line.size() - 1);
    text += Entry(line.substr(0, space), line.substr(space + 1), kStatusColumn, style);
  }
  return text + Entry("other", "as muster help exit-status prints", kStatusColumn, style);
}

}  // namespace

std::string FirstPage(std::span<const CommandRow> commands, const Style& style) {
  std::string page = Wrapped(
      "muster connects the processes of a job under any launcher, and names the rank and node that prevent "
      "it.",
      0, style.width);
  page += fmt::format("\nUsage: {}\n", style.Strong("muster COMMAND [OPTION...] [-- CMD ARG...]"));
  std::string_view group;
  for (const CommandRow& command : commands) {
    if (command.group != group) page += fmt::format("\n{}\n", style.Strong(command.group));
    group = command.group;
    page += Entry(command.name, command.summary, 11, style);
  }
  page +=
      "\n"
      "Example: srun -N4 -n16 muster run -- python evaluate.py\n"
      "More:    muster help COMMAND, muster help exit-status, muster help keys\n"
      "Manual:  man muster, man muster.yaml, if the man pages are installed\n";
  return page;
}

std::string CommandPage(const CommandManual& command, const Style& style) {
  std::string page = Wrapped(command.summary, 0, style.width);
  page.insert(page.size() - 1, ".");
  page += fmt::format("\nUsage: {}\n", style.Strong(command.usage));
  if (!command.text.details.empty()) page += "\n" + Wrapped(command.text.details, 0, style.width);
  if (!command.positionals.empty()) page += "\n" + OptionRows(command.positionals, style);
  for (const OptionGroup& group : command.options)
    page += Section(group.title, OptionRows(group.options, style), style);
  if (!command.text.notes.empty()) page += "\n" + Wrapped(command.text.notes, 0, style.width);
  page += Section("Exit status", Statuses(command.text.exit_status, style), style);
  return page + Section("Examples", Lines(command.text.examples), style);
}

std::string ExitStatusPage(const Style& style) {
  std::string page = "Exit statuses of muster\n\n";
  for (const ExitMeaning& status : ExitStatuses())
    page += Entry(status.status, status.meaning, kStatusColumn, style);
  return page;
}

}  // namespace muster::cli

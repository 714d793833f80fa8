#include "bootstrap/process/stack.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>

#include "bootstrap/process/exec_child.h"
#include "comm/base/parse.h"
#include "comm/system/proc_file.h"

namespace muster::process {
namespace {

constexpr size_t kLongestOutput = 64 * 1024;
// Between the request to end and the kill of a tool: an attached tool must release its process.
constexpr Duration kToolGrace = std::chrono::milliseconds(500);
constexpr int kDeepest = 8;
constexpr std::string_view kPath = "/usr/local/bin:/usr/bin:/bin";

bool IsPython(pid_t pid) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  if (length <= 0) return false;
  const std::string_view file(path.data(), static_cast<size_t>(length));
  return file.substr(file.rfind('/') + 1).starts_with("python");
}

std::string KernelSide(pid_t pid) {
  const std::string wchan(Trim(ReadProcFile(fmt::format("/proc/{}/wchan", pid)).value_or("")));
  std::string text;
  if (!wchan.empty() && wchan != "0") text += fmt::format("kernel: sleeps in {}\n", wchan);
  // For root alone.
  if (const auto stack = ReadProcFile(fmt::format("/proc/{}/stack", pid)); stack && !stack->empty()) {
    text += "kernel stack:\n" + *stack;
  }
  return text;
}

std::string NoTool(bool python) {
  return fmt::format("no user stack: none of {}eu-stack, gdb and pstack is installed on this node{}\n",
                     python ? "py-spy, " : "", python ? " (pip install py-spy)" : "");
}

std::string Advice(pid_t pid, bool python, const std::string& tool, const std::string& output) {
  if (output.find("not permitted") != std::string::npos ||
      output.find("ermission denied") != std::string::npos) {
    return "reading another process's stack needs root if kernel.yama.ptrace_scope is 1\n";
  }
  if (!python || tool == "py-spy") return "";
  return fmt::format(
      "Python frames: pip install py-spy; or, if the program has called "
      "faulthandler.register(signal.SIGUSR1): kill -USR1 {}, then read its standard error\n",
      pid);
}

}  // namespace

std::vector<StackTool> StackTools(bool python) {
  std::vector<StackTool> tools;
  if (python) tools.push_back({"py-spy", {"py-spy", "dump", "--pid", "PID"}});
  tools.push_back({"eu-stack", {"eu-stack", "-p", "PID"}});
  tools.push_back({"gdb",
                   {"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
                    "-p", "PID", "-ex", "thread apply all backtrace 32"}});
  tools.push_back({"pstack", {"pstack", "PID"}});
  return tools;
}

ToolOutput RunTool(const std::vector<std::string>& command, std::string_view path, Deadline deadline) {
  const std::string& name = command.front();
  // Tools do not use the job's environment.
  return CaptureTool({name,
                      AbsoluteCandidates(name, {fmt::format("PATH={}", path.empty() ? kPath : path)}),
                      {command.begin() + 1, command.end()},
                      {fmt::format("PATH={}", kPath), "LC_ALL=C"},
                      kLongestOutput},
                     kToolGrace, deadline);
}

pid_t WorkingProcess(pid_t pid) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto children = ReadProcFile(fmt::format("/proc/{}/task/{}/children", pid, pid));
    if (!children) return pid;
    const std::vector<std::string_view> words = Split(Trim(*children), ' ');
    const auto only = words.size() == 1 ? ParseInteger<pid_t>(words.front()) : std::nullopt;
    if (!only) return pid;
    pid = *only;
  }
  return pid;
}

std::string ReadStack(pid_t pid, std::string_view path, Deadline deadline) {
  const bool python = IsPython(pid);
  const bool stopped_before = StatField(pid, kStatState) == "T";
  std::string text = KernelSide(pid);
  for (const StackTool& tool : StackTools(python)) {
    std::vector<std::string> command = tool.command;
    std::ranges::replace(command, "PID", std::to_string(pid));
    const ToolOutput ran = RunTool(command, path, deadline);
    if (!ran.started) continue;
    // A tool attaches by a SIGSTOP. If it is killed at that moment, the signal stays, and stops the process
    // for ever.
    if (!ran.exited && !stopped_before) kill(pid, SIGCONT);
    text += fmt::format("{}:\n{}", tool.name, ran.output);
    if (!text.ends_with('\n')) text += '\n';
    if (!ran.in_time) text += tool.name + " did not end in time\n";
    return text + Advice(pid, python, tool.name, ran.output);
  }
  return text + NoTool(python);
}

}  // namespace muster::process

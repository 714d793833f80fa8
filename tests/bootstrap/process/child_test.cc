#include "bootstrap/process/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/bootstrap/process/finish_child.h"

namespace muster::process {
namespace {

std::string PathOf(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Script(const std::string& name, const std::string& text, mode_t mode) {
  std::string path = PathOf(name);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

bool HasNoChildren() { return waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(Child, ReportsTheExitCode) {
  const auto child = Started(Shell("exit 3"));
  const ChildExit end = Finish(*child);
  EXPECT_EQ(end, (ChildExit{3, 0}));
  EXPECT_EQ(end.ShellStatus(), 3);
  EXPECT_EQ(end.Describe(), "exit 3");
  EXPECT_FALSE(end.ok());
  EXPECT_TRUE(HasNoChildren());
}

TEST(Child, HandsOverItsStandardOutput) {
  ChildOptions options = Shell("echo out; echo err >&2");
  options.pipe_stdout = true;
  const auto child = Started(options);
  EXPECT_EQ(ReadAll(child->TakeStdout().get()), "out\n");
  EXPECT_EQ(ReadAll(child->TakeStderr().get()), "err\n");
  EXPECT_EQ(Finish(*child), (ChildExit{0, 0}));
}

TEST(Child, ReportsDeathBySignal) {
  const auto child = Started(Shell("kill -SEGV $$"));
  const ChildExit end = Finish(*child);
  EXPECT_EQ(end, (ChildExit{0, SIGSEGV}));
  EXPECT_EQ(end.ShellStatus(), 139);
  EXPECT_EQ(end.Describe(), "signal 11 (Segmentation fault)");
}

TEST(Child, IsNotEndedWhileItRunsAndStaysAZombieUntilReaped) {
  const auto child = Started(Shell("exec sleep 1000"));
  ASSERT_EQ(child->Exited(), std::nullopt);
  ASSERT_TRUE(child->Signal(SIGKILL));
  ASSERT_TRUE(AwaitExit(*child));
  EXPECT_EQ(child->Exited(), (ChildExit{0, SIGKILL}));
  EXPECT_EQ(kill(child->pid(), 0), 0);
  child->Reap();
  EXPECT_TRUE(HasNoChildren());
  EXPECT_EQ(child->Exited(), (ChildExit{0, SIGKILL}));
  EXPECT_TRUE(child->Signal(SIGTERM));
}

struct Failing {
  std::string program;
  int exit_status;
  std::string message;
  std::string hint;
};

TEST(Child, SaysPreciselyWhyAProgramCannotStart) {
  const std::string plain = Script("plain", "x", 0644);
  const std::string python = Script("plain.py", "x", 0644);
  const std::string no_interpreter = Script("no_interpreter", "#!/no/such/interpreter\n", 0755);
  const std::string long_name(300, 'x');
  for (const Failing& failing : std::vector<Failing>{
           {"no-such-program", 127, "cannot start \"no-such-program\": No such file or directory",
            "add its directory to PATH, or write its path"},
           {"/no/such", 127, "cannot start \"/no/such\": No such file or directory", ""},
           {"python3 -c pass", 127, "cannot start \"python3 -c pass\": No such file or directory",
            "it is one word with spaces; leave out the quotes around it: python3 -c pass"},
           {"train.py", 127, "cannot start \"train.py\": No such file or directory",
            "start it with Python: python train.py"},
           {"/no/such.py", 127, "cannot start \"/no/such.py\": No such file or directory", ""},
           {python, 126, "cannot start \"" + python + "\": Permission denied",
            "start it with Python: python " + python},
           {"", 127, "cannot start \"\": No such file or directory",
            "add its directory to PATH, or write its path"},
           {plain, 126, "cannot start \"" + plain + "\": Permission denied",
            "make it executable (chmod +x), on a file system that is not mounted with noexec"},
           {"/", 126, "cannot start \"/\": Permission denied",
            "it is a directory; write the path of a program"},
           {plain + "/x", 126, "cannot start \"" + plain + "/x\": Not a directory", ""},
           {"./" + long_name, 126, "cannot start \"./" + long_name + "\": File name too long", ""},
           {no_interpreter, 127, "cannot start \"" + no_interpreter + "\": No such file or directory",
            "correct the first line of the file: the interpreter that it names does not exist"},
       }) {
    const auto child = Child::Start(Program({failing.program}, {"PATH=/usr/bin:/bin"}));
    ASSERT_FALSE(child) << failing.program;
    EXPECT_EQ(child.error().error, (Error{Code::kSystem, failing.message, failing.hint}));
    EXPECT_EQ(child.error().exit_status, failing.exit_status) << failing.program;
    EXPECT_TRUE(HasNoChildren());
  }
}

TEST(Child, NeedsAProgram) {
  const auto child = Child::Start({});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().error, (Error{Code::kUsage, "there is no program to start", ""}));
  EXPECT_EQ(child.error().exit_status, 64);
}

TEST(Child, GoesOnLookingWhereAFileMayNotBeStarted) {
  const std::string directory = PathOf("shadow");
  mkdir(directory.c_str(), 0755);
  Script("shadow/true", "x", 0644);
  auto child = Started(Program({"true"}, {"PATH=" + directory + ":/usr/bin:/bin"}));
  EXPECT_TRUE(Finish(*child).ok());
  const auto refused = Child::Start(Program({"true"}, {"PATH=" + directory + ":/no/such"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_status, 126);
}

// The error of a start by a thread that has no rights of root. No error: there was none.
Error StartedByAnOrdinaryUser(const ChildOptions& options) {
  Error error;
  std::thread([&] {
    constexpr uid_t kNoOwner = 65534;
    if (geteuid() == 0) syscall(SYS_setresuid, kNoOwner, kNoOwner, kNoOwner);  // of this thread alone
    const auto child = Child::Start(options);
    if (!child) error = child.error().error;
  }).join();
  return error;
}

TEST(Child, CountsADirectoryThatMayNotBeSearchedAsOneWithoutTheProgram) {
  const std::string directory = PathOf("private");
  mkdir(directory.c_str(), 0);
  EXPECT_EQ(StartedByAnOrdinaryUser(Program({"no-such-program"}, {"PATH=" + directory + ":/usr/bin"})),
            (Error{Code::kSystem, "cannot start \"no-such-program\": No such file or directory",
                   "add its directory to PATH, or write its path"}));
}

TEST(Child, CountsAFileInThePlaceOfADirectoryAsOneWithoutTheProgram) {
  const std::string file = Script("file", "x", 0644);
  for (const std::string& path : {file, file + ":/usr/bin"}) {
    const auto child = Child::Start(Program({"no-such-program"}, {"PATH=" + path}));
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().error.message, "cannot start \"no-such-program\": No such file or directory");
    EXPECT_EQ(child.error().exit_status, 127);
  }
}

// Until the end of its life.
class Limit {
 public:
  Limit(int resource, rlim_t value) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit low{value, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &low), 0);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  const int resource_;
  rlimit before_{};
};

TEST(Child, NamesTheLimitThatIsReached) {
  {
    const Limit limit(RLIMIT_NPROC, 0);
    const Error error = StartedByAnOrdinaryUser(Program({"true"}, {}));
    EXPECT_EQ(error.code, Code::kSystem);
    EXPECT_EQ(error.message, "cannot start another process: Resource temporarily unavailable");
    EXPECT_THAT(error.hint,
                testing::StartsWith("raise the limit on processes and threads: ulimit -u, now 0"));
  }
  const Limit limit(RLIMIT_NOFILE, 3);
  const auto child = Child::Start(Program({"true"}, {}));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().error, (Error{Code::kSystem, "cannot make a pipe: Too many open files",
                                        "raise the limit on open files: ulimit -Sn"}));
}

TEST(Child, RunsAScriptWithoutAFirstLineAsAShellDoes) {
  const std::string script = Script("bare", "echo \"$0 $1\" >&2; exit 5\n", 0755);
  const auto child = Started(Program({script, "a b"}, {}));
  EXPECT_EQ(ReadAll(child->TakeStderr().get()), script + " a b\n");
  EXPECT_EQ(Finish(*child).code, 5);
}

TEST(Child, HasExactlyTheEnvironmentAndArgumentsGiven) {
  const auto child = Started(
      Program({"/bin/sh", "-c", "env >&2; echo \"$#:$0:$1\" >&2", "zero", "o\nne"}, {"B=2", "A=1 1"}));
  const std::string text = ReadAll(child->TakeStderr().get());
  EXPECT_THAT(text, testing::HasSubstr("B=2\n"));
  EXPECT_THAT(text, testing::HasSubstr("A=1 1\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("TEST_TMPDIR")));
  EXPECT_THAT(text, testing::EndsWith("1:zero:o\nne\n"));
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(Child, RunsInItsDirectory) {
  ChildOptions options = Shell("pwd >&2");
  options.directory = "/";
  const auto child = Started(options);
  EXPECT_EQ(ReadAll(child->TakeStderr().get()), "/\n");
  Finish(*child);
}

TEST(Child, SaysThatItsDirectoryIsNotThere) {
  ChildOptions options = Shell("true");
  options.directory = "/no/such";
  const auto failed = Child::Start(options);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error.message,
            "cannot start \"/bin/sh\" in the directory /no/such: No such file or directory");
  EXPECT_EQ(failed.error().exit_status, 126);
}

TEST(Child, HasItsOwnProcessGroupOnlyWhereTold) {
  ChildOptions options = Shell("read -r pid name state parent group rest < /proc/$$/stat; test $group = $$");
  EXPECT_TRUE(Finish(*Started(options)).ok());
  options.own_process_group = false;
  EXPECT_FALSE(Finish(*Started(options)).ok());
}

// A process that stays behind holds the pipe: its end of file shows that it is gone.
TEST(Child, SignalsTheWholeGroupAlsoAfterTheProgramHasEnded) {
  const auto child = Started(Shell("sleep 1000 & exit 0"));
  ASSERT_TRUE(AwaitExit(*child));
  EXPECT_TRUE(child->Exited()->ok());
  EXPECT_TRUE(child->Signal(SIGKILL));
  EXPECT_EQ(ReadAll(child->TakeStderr().get()), "");
  child->Reap();
}

TEST(Child, SignalsTheProgramAloneWithoutAGroup) {
  ChildOptions options = Shell("trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.01; done");
  options.own_process_group = false;
  const auto child = Started(options);
  ASSERT_TRUE(WaitReadable(child->TakeStderr().get()));
  EXPECT_TRUE(child->Signal(SIGTERM));
  EXPECT_EQ(Finish(*child).code, 9);
}

// A set of signals out of /proc/PID/status of a program, real-time signals left out: the parent of the test
// may ignore those.
uint64_t SignalSet(const std::string& name) {
  const auto child = Started(Shell("grep " + name + ": /proc/self/status >&2"));
  const std::string line = ReadAll(child->TakeStderr().get());
  Finish(*child);
  EXPECT_TRUE(line.starts_with(name + ":\t")) << line;
  constexpr uint64_t kStandardSignals = 0x7fffffff;
  return std::stoull(line.substr(name.size() + 2), nullptr, 16) & kStandardSignals;
}

TEST(Child, StartsWithDefaultSignals) {
  for (int number = 1; number < 32; ++number) signal(number, SIG_DFL);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGUSR1, [](int) {});
  EXPECT_EQ(SignalSet("SigBlk"), 0u);
  EXPECT_EQ(SignalSet("SigIgn"), 0u);
  // nohup: what was ignored before muster stays so.
  signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(SignalSet("SigIgn"), 1u << (SIGHUP - 1));
  for (const int number : {SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Child, InheritsTheDescriptorsOfALauncherAndNoneOfOurs) {
  const UniqueFd launchers(open("/dev/null", O_RDONLY));
  const UniqueFd ours(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string fds = "/proc/self/fd/";
  const auto child = Started(Shell("test -e " + fds + std::to_string(launchers.get()) + " && ! test -e " +
                                   fds + std::to_string(ours.get())));
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(Child, WritesToOurStderrWithoutAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd saved(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  ChildOptions options = Shell("echo direct >&2");
  options.pipe_stderr = false;
  const auto child = Started(options);
  dup2(saved.get(), STDERR_FILENO);
  EXPECT_FALSE(child->TakeStderr());
  EXPECT_EQ(ReadAll(read_end.get()), "direct\n");
  Finish(*child);
}

TEST(Child, WorksWhereStandardDescriptorsAreClosed) {
  const UniqueFd saved_in(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
  const UniqueFd saved_err(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10));
  close(STDIN_FILENO);
  close(STDERR_FILENO);
  const auto child = Started(Shell("echo here >&2"));
  dup2(saved_in.get(), STDIN_FILENO);
  dup2(saved_err.get(), STDERR_FILENO);
  EXPECT_EQ(ReadAll(child->TakeStderr().get()), "here\n");
  EXPECT_TRUE(Finish(*child).ok());
}

TEST(Child, DiesWithItsOwner) {
  UniqueFd stderr_end;
  {
    const auto child = Started(Shell("sleep 1000 & sleep 1000"));
    stderr_end = child->TakeStderr();
  }
  EXPECT_EQ(ReadAll(stderr_end.get()), "");
  EXPECT_TRUE(HasNoChildren());
}

constexpr int kMany = 8;

// A process of its own, because a tracer sees each stop of its tracee as an end: writes the process numbers of its
// children, waits for a byte, and exits with the seconds that it took to end them.
pid_t OwnerOfMany(int numbers, int go) {
  const pid_t owner = fork();
  if (owner != 0) return owner;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < kMany; ++i) {
    children.push_back(Started(Shell("exec sleep 1000")));
    const pid_t pid = children.back()->pid();
    if (write(numbers, &pid, sizeof pid) != sizeof pid) _exit(100);
  }
  char byte = 0;
  if (read(go, &byte, 1) != 1) _exit(101);
  const auto began = std::chrono::steady_clock::now();
  for (const auto& child : children) static_cast<void>(child->Signal(SIGKILL));
  children.clear();
  const auto took = std::chrono::steady_clock::now() - began;
  _exit(static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(took).count()));
}

// A tracer holds processes in their exit, as the kernel holds one in state D.
TEST(Child, ManyThatSigkillDoesNotEndAreWaitedForTogether) {
  int numbers[2];
  int go[2];
  ASSERT_EQ(pipe2(numbers, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  const pid_t owner = OwnerOfMany(numbers[1], go[0]);
  std::array<pid_t, kMany> held{};
  for (pid_t& pid : held) {
    ASSERT_EQ(read(numbers[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT), 0) << strerror(errno);
  }
  ASSERT_EQ(write(go[1], "", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_GE(WEXITSTATUS(status), 1) << "they were not held";
  EXPECT_LT(WEXITSTATUS(status), kMany / 2);
  for (const pid_t pid : held) {
    waitpid(pid, nullptr, __WALL);
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  }
  for (const int end : {numbers[0], numbers[1], go[0], go[1]}) close(end);
}

// The supervisor is killed; its program comes to us, the nearest subreaper, and we see what it died of.
TEST(Child, IsKilledByTheKernelWhenMusterIsKilled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t supervisor = fork();
  ASSERT_GE(supervisor, 0);
  if (supervisor == 0) {
    const auto child = Started(Shell("exec sleep 1000"));
    const pid_t pid = child->pid();
    const bool told = write(write_end.get(), &pid, sizeof pid) == sizeof pid;
    if (told) pause();
    _exit(1);
  }
  write_end.Reset();
  pid_t program = 0;
  ASSERT_TRUE(WaitReadable(read_end.get()));
  ASSERT_EQ(read(read_end.get(), &program, sizeof program), static_cast<ssize_t>(sizeof program));
  kill(supervisor, SIGKILL);
  ASSERT_EQ(waitpid(supervisor, nullptr, 0), supervisor);
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace muster::process

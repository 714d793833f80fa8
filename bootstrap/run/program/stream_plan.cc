#include "bootstrap/run/program/stream_plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "bootstrap/output/log_file.h"
#include "comm/base/parse.h"
#include "comm/system/pipe.h"

namespace muster::run {
namespace {

// One program of this process has the launcher's input: srun has a setting of its own (--input).
config::RunStdin Chosen(config::RunStdin input, int programs) {
  if (input == config::RunStdin::kAuto)
    return programs > 1 ? config::RunStdin::kRank0 : config::RunStdin::kAll;
  return input;
}

// A log file that is a named pipe whose reader has stopped must not stop its program.
constexpr Duration kPipeFullFor = std::chrono::milliseconds(500);
constexpr Duration kOpenedWithin = std::chrono::minutes(1);

// As `srun -l` has it.
std::string LabelOf(int rank, int world_size) {
  const size_t width = std::to_string(world_size - 1).size();
  return fmt::format("{:>{}}: ", rank, width);
}

UniqueFd Duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); }

}  // namespace

InputPlan::InputPlan(net::EventLoop& loop, config::RunStdin input, int programs)
    : input_(Chosen(input, programs)) {
  if (input_ == config::RunStdin::kAll && programs > 1)
    copy_ = std::make_unique<output::StdinCopy>(loop, STDIN_FILENO);
}

Result<UniqueFd> InputPlan::For(int rank) {
  if (copy_) return copy_->AddReader(rank);
  if (input_ == config::RunStdin::kAll || (input_ == config::RunStdin::kRank0 && rank == 0))
    return UniqueFd();
  UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return Fail(Code::kSystem, "cannot open /dev/null: {}", ErrnoText(errno));
  return AboveStandard(std::move(nothing));
}

void InputPlan::Start() {
  if (copy_) copy_->Start();
}

void InputPlan::Ended(int rank) {
  if (copy_) copy_->Drop(rank);
}

OutputPlan::OutputPlan(net::EventLoop& loop, const config::RunOptions& options, int incarnation,
                       std::function<void()> on_idle)
    : loop_(loop),
      label_(options.label),
      directory_(options.log_dir),
      incarnation_(incarnation),
      on_idle_(std::move(on_idle)),
      files_(loop.mailbox()) {
  err_ = Open(output::OutputKind::kErr, output::NameOfStream("standard error", STDERR_FILENO),
              Duplicate(STDERR_FILENO));
  if (!label_ && !directory_) return;
  out_ = Open(output::OutputKind::kOut, output::NameOfStream("standard output", STDOUT_FILENO),
              Duplicate(STDOUT_FILENO));
}

std::unique_ptr<output::Console> OutputPlan::Open(output::OutputKind kind, std::string name, UniqueFd fd) {
  const Duration patience = kind == output::OutputKind::kLogFile ? kPipeFullFor : Duration::zero();
  auto console = std::make_unique<output::Console>(
      output::Console::Params{loop_, files_, losses_, kind, std::move(name), patience}, std::move(fd));
  console->OnIdle(on_idle_);
  return console;
}

std::string OutputPlan::NameOfFile(const Roster& roster, int rank, std::string_view stream) const {
  return ToString(output::LogFileName{rank, roster.size(), incarnation_, roster.NodeName(rank)}, stream);
}

void OutputPlan::OpenFiles(const Roster& roster, const std::vector<int>& ranks, std::function<void()> then) {
  if (!directory_) return then();
  on_opened_ = std::move(then);
  for (const int rank : ranks) {
    for (const std::string_view stream : {"out", "err"}) unopened_.push(NameOfFile(roster, rank, stream));
  }
  opened_late_ = loop_.After(kOpenedWithin, [this] { Opened(); });
  OpenNext();
}

void OutputPlan::OpenNext() {
  if (!on_opened_) return;
  if (unopened_.empty()) return Opened();
  const std::string name = unopened_.front();
  unopened_.pop();
  const auto file = std::make_shared<std::optional<Result<UniqueFd>>>();
  files_.Run([file, name, directory = *directory_] { *file = output::OpenLogFile(directory, name); },
             [this, file, name] {
               const bool opened = opened_.emplace(name, std::move(**file)).first->second.has_value();
               opened ? OpenNext() : Opened();
             });
}

void OutputPlan::Opened() {
  opened_late_.Cancel();
  if (const auto then = std::exchange(on_opened_, nullptr)) then();
}

Result<output::Console*> OutputPlan::OpenFile(const Roster& roster, int rank, std::string_view stream) {
  const std::string name = NameOfFile(roster, rank, stream);
  const std::string path = *directory_ + "/" + name;
  const auto opened = opened_.find(name);
  if (opened == opened_.end()) {
    return WithHint(
        Fail(Code::kDeadline, "cannot write {}: not opened within {}", path, FormatDuration(kOpenedWithin)),
        "check the file system: it does not answer");
  }
  MUSTER_TRY(UniqueFd file, std::move(opened->second));
  log_files_.push_back(Open(output::OutputKind::kLogFile, path, std::move(file)));
  return log_files_.back().get();
}

Result<CapturedOutput> OutputPlan::For(const Roster& roster, int rank) {
  CapturedOutput output{out_.get(), *err_, std::nullopt};
  if (label_) output.label = LabelOf(rank, roster.size());
  if (!directory_) return output;
  MUSTER_TRY(output.out_file, OpenFile(roster, rank, "out"));
  MUSTER_TRY(output.err_file, OpenFile(roster, rank, "err"));
  return output;
}

std::vector<output::Console*> OutputPlan::All() const {
  std::vector<output::Console*> all = {err_.get()};
  if (out_) all.push_back(out_.get());
  for (const auto& file : log_files_) all.push_back(file.get());
  return all;
}

bool OutputPlan::idle() const {
  return std::ranges::all_of(All(), [](const output::Console* console) { return console->idle(); });
}

void OutputPlan::GiveUp(const std::string& reason) {
  for (output::Console* console : All()) console->GiveUp(reason);
}

}  // namespace muster::run

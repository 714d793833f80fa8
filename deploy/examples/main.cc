// A real evaluation on real data as a program that links muster: digits_options.cc describes it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "bootstrap/bootstrap.h"
#include "deploy/examples/digits_data.h"
#include "deploy/examples/digits_evaluation.h"
#include "deploy/examples/digits_options.h"
#include "deploy/examples/digits_report.h"
#include "deploy/examples/gpu_classifier.h"
#include "deploy/examples/progress_meter.h"
#include "deploy/examples/regular_file.h"

namespace muster::examples {
namespace {

Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return Fail(Code::kSystem, "cannot write to the standard output: {}", ErrnoText(errno));
}

// A lost progress line does no harm.
void Show(const std::string& text) {
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stderr);
}

Status EvaluateAndReport(Communicator& group, const DigitsOptions& options) {
  const bool reports = group.rank() == 0;
  MUSTER_TRY(const Digits digits, LoadDigits(options.data));
  std::optional<OutputFile> file;
  if (reports && options.predictions) {
    MUSTER_TRY(file, OutputFile::Open(*options.predictions));
  }
  ProgressMeter meter(isatty(STDERR_FILENO) == 1, Clock::now());
  EvaluationOptions evaluation_options;
  evaluation_options.repeat = options.repeat;
  if (reports) {
    evaluation_options.progress = [&](uint64_t done, uint64_t total) {
      Show(meter.Advance(done, total, Clock::now()));
    };
  }
  // If all ranks have a GPU, each uses its own.
  if (group.backend() == "nccl") {
    MUSTER_TRY(evaluation_options.classify, MakeGpuClassifier(digits));
  }
  const Result<Evaluation> evaluation = RunEvaluation(group, digits, evaluation_options);
  Show(meter.Finish());
  if (!evaluation) return Fail(evaluation.error());
  if (!reports) return {};
  if (file) MUSTER_CHECK(file->WriteAndClose(FormatPredictions(evaluation->predictions)));
  return Print(FormatReport(group.roster(), *evaluation));
}

Status Run(std::span<const char* const> arguments) {
  MUSTER_TRY(const DigitsOptions options, ParseDigitsOptions(arguments));
  if (options.help) return Print(DigitsHelp());
  MUSTER_TRY(Communicator * group, Init());
  // After a failure there is no Shutdown: an exit without a leave message fails the other ranks immediately.
  MUSTER_CHECK(EvaluateAndReport(*group, options));
  return Shutdown();
}

}  // namespace
}  // namespace muster::examples

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv, static_cast<size_t>(argc));
  const muster::Status status = muster::examples::Run(arguments.subspan(argc > 0 ? 1 : 0));
  if (status) return 0;
  fmt::print(stderr, "digits: {}\n", muster::ToString(status.error()));
  return muster::ExitStatus(status.error().code);
}

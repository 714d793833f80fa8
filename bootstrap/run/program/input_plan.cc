#include "bootstrap/run/program/input_plan.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "comm/system/pipe.h"

namespace muster::run {
namespace {

// One program of this process has the launcher's input: srun has a setting of its own (--input).
config::RunStdin Chosen(config::RunStdin input, int programs) {
  if (input == config::RunStdin::kAuto)
    return programs > 1 ? config::RunStdin::kRank0 : config::RunStdin::kAll;
  return input;
}

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

}  // namespace muster::run

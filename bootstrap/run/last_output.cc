#include "bootstrap/run/last_output.h"

#include <fmt/core.h>

#include <utility>

#include "bootstrap/process/end_request.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster::run {
namespace {

using std::chrono::milliseconds;

// For the last lines of a failed program, before the line about its failure.
constexpr Duration kOutputWithin = milliseconds(500);
constexpr Duration kNoticeSignalsWithin = milliseconds(100);

}  // namespace

void LastOutput::Await() {
  programs_.StopReading();
  if (!verdict_.failure()) return;
  const Duration limit = ReaderWithin(verdict_.facts().grace);
  reader_until_ = Deadline::After(limit);
  loop_.After(limit, [this, limit] {
    programs_.GiveUpOutput(fmt::format("its reader did not take them within {}", FormatDuration(limit)));
  });
}

void LastOutput::GiveUp(int signal) {
  verdict_.noted().waits_end = true;
  programs_.GiveUpOutput(fmt::format("its reader had not taken them before {}", process::SignalName(signal)));
  verdict_.failure() ? verdict_.Finish() : verdict_.Finish(128 + signal);
}

void LastOutput::GiveUpLater(int signal) {
  loop_.After(ReaderWithin(verdict_.facts().grace), [this, signal] {
    if (!verdict_.status()) GiveUp(signal);
  });
}

void LastOutput::NoteFailure(bool received, std::vector<map::MapState> maps) {
  failure_line_ = {received, std::move(maps)};
  if (programs_.written()) return LogFailure();
  loop_.After(kOutputWithin, [this] { LogFailure(); });
}

// A reader that has stopped delays this line, not the failure: other ranks fail as a consequence, and theirs would be
// reported as the first.
void LastOutput::LogFailure() {
  if (const auto line = std::exchange(failure_line_, std::nullopt))
    reporter_.Failed(*verdict_.failure(), line->received, line->maps);
}

void LastOutput::OnIdle() {
  if (programs_.written()) LogFailure();
  FlushLog(Deadline::After(Duration::zero()));
}

void LastOutput::WriteLines(RunSignals& signals) {
  const auto reader_left = reader_until_ ? std::optional(reader_until_->Remaining()) : std::nullopt;
  const Deadline until =
      Deadline::After(LastLinesWithin(verdict_.facts().grace, reader_left, verdict_.noted().waits_end));
  do {
    const Deadline part = until.EarlierOf(Deadline::After(kNoticeSignalsWithin));
    FlushLog(part);
    if (!part.Expired()) return;
    while (const auto event = signals.relay().Next()) signals.TakeAtEnd(*event);
  } while (!verdict_.noted().waits_end && !until.Expired());
}

}  // namespace muster::run

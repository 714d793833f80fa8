// muster journal: the work that a map has done.

#include "bootstrap/cli/commands.h"
#include "bootstrap/cli/flags.h"
#include "bootstrap/map/journal_report.h"
#include "bootstrap/process/standard_streams.h"
#include "comm/log/log.h"
#include "comm/map/journal/reader.h"

namespace muster::cli {
namespace {

constexpr CommandText kText = {
    .details =
        R"(Prints a summary from the journal of a map: items that have ended, runs, failures, the slowest items. The journal is only
read; a run may be writing to it.

With verify it checks the checksum of every record and names each damaged place. With merge it writes the results of the
committed items in the order of the items, each followed by a newline: the same bytes for any ranks and runs.)",
    .examples = R"(muster journal out/answers.journal
muster journal out/answers.journal --json | jq 'select(.ending == "poisoned") | .key'
muster journal out/answers.journal --csv > answers.csv
muster journal out/answers.journal verify
muster journal out/answers.journal merge > answers.jsonl)",
    .exit_status = R"(64 it is no journal, or merge found a pickled Python object
71 it cannot be read
79 verify: a record is damaged; merge: an item has no result, and the other results are written)",
};

struct JournalFlags {
  std::string directory;
  std::string action;
  bool json = false;
  bool csv = false;
  bool zero = false;
};

// Beside output that has no place for it.
void WarnOfDamage(const map::JournalReader& journal) {
  for (const map::JournalFlaw& flaw : journal.flaws()) {
    if (map::IsDamage(flaw)) LogWarning("{}", map::Describe(flaw));
  }
}

Result<int> Verify(const map::JournalReader& journal, const JournalFlags& flags) {
  MUSTER_CHECK(process::Print(flags.json ? map::VerifyJson(journal, flags.directory)
                                         : map::VerifyText(journal, flags.directory)));
  return map::IsWhole(journal) ? 0 : ExitStatus(Code::kWorkFailed);
}

Result<int> Merge(map::JournalReader& journal, const JournalFlags& flags) {
  WarnOfDamage(journal);
  MUSTER_CHECK(map::WriteMerged(journal, flags.zero ? '\0' : '\n', process::Print));
  const uint64_t items = journal.identity().items;
  const uint64_t committed = journal.index().committed();
  if (committed == items) return 0;
  const uint64_t poisoned = journal.index().poisoned();
  return WithHint(Fail(Code::kWorkFailed, "{} of {} items have no result: {} given up, {} left",
                       items - committed, items, poisoned, items - committed - poisoned),
                  "run the map again with this journal");
}

// Users give the directory of the results, which has the journal unless --journal names another place.
Result<map::JournalReader> OpenJournal(const std::string& directory) {
  Result<map::JournalReader> journal = map::JournalReader::Open(directory);
  if (journal || journal.error().code != Code::kUsage) return journal;
  Result<map::JournalReader> inside = map::JournalReader::Open(directory + "/journal");
  return inside ? std::move(inside) : std::move(journal);
}

Result<int> ShowJournal(const JournalFlags& flags) {
  MUSTER_TRY(map::JournalReader journal, OpenJournal(flags.directory));
  if (flags.action == "verify") return Verify(journal, flags);
  if (flags.action == "merge") return Merge(journal, flags);
  if (flags.json || flags.csv) {
    WarnOfDamage(journal);
    MUSTER_CHECK(flags.json ? map::WriteJsonLines(journal, process::Print)
                            : map::WriteCsv(journal, process::Print));
  } else {
    MUSTER_TRY(const std::string summary, map::JournalSummary(journal, flags.directory));
    MUSTER_CHECK(process::Print(summary));
  }
  return 0;
}

}  // namespace

CommandText AddJournalCommand(Options& options, Run& run) {
  const auto flags = std::make_shared<JournalFlags>();
  options.Positional("DIRECTORY", flags->directory, "the journal of a map, or its --output directory")
      .Required();
  options.Positional("ACTION", flags->action, "verify or merge; without it: print a summary")
      .OneOf({"verify", "merge"});
  options.Under(kOutput);
  const Option json = options.Flag("--json", flags->json,
                                   "print a JSON object for each item, a line each; with verify one object");
  options.Flag("--csv", flags->csv, "print a line of CSV for each item").Excludes(json);
  options.Flag("-0,--zero", flags->zero,
               "with merge: write a NUL byte after each result instead of a newline");
  // Lines of records are on standard output already when merge finds an item without one.
  run = [flags] { return StatusOf(ShowJournal(*flags), flags->json && flags->action != "merge"); };
  return kText;
}

}  // namespace muster::cli

// The output of `muster journal`.
//
// Every function that returns a Result or a Status reads the journal's records, and blocks for its files.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "comm/base/error.h"
#include "comm/map/journal/reader.h"

namespace muster::map {

// Takes the next part of the text. Its error ends the function that calls it.
using TextSink = std::function<Status(std::string_view part)>;

// For users: items, runs, given-up items, the slowest items, damage.
Result<std::string> JournalSummary(JournalReader& journal, std::string_view path);

// A line for each item that has ended, in the order of the items; README.md has the fields.
Status WriteJsonLines(JournalReader& journal, const TextSink& sink);
Status WriteCsv(JournalReader& journal, const TextSink& sink);
// The results of the committed items in their order, each followed by `separator`. Error: kUsage: a result
// that is not text (Python's pickle), by item and key.
Status WriteMerged(JournalReader& journal, char separator, const TextSink& sink);

// Whether all records are as they were written; everything that does not count.
std::string VerifyText(const JournalReader& journal, std::string_view path);
std::string VerifyJson(const JournalReader& journal, std::string_view path);
bool IsWhole(const JournalReader& journal);

}  // namespace muster::map

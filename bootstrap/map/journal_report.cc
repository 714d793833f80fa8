#include "bootstrap/map/journal_report.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "bootstrap/config/text/utf8.h"
#include "comm/base/parse.h"
#include "comm/base/printable.h"
#include "comm/log/log_json.h"

namespace muster::map {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostLines = 10;
constexpr size_t kLongestError = 160;

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// In quotes, without bytes that a terminal would obey.
std::string Quoted(std::string_view text) { return Dump(Json(std::string(text))); }

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string_view NameOf(Format format) {
  constexpr std::array<std::string_view, 3> kNames = {"bytes", "json", "pickle"};
  return kNames.at(static_cast<size_t>(format));
}

std::string_view NameOf(Ending ending) { return ending == Ending::kCommitted ? "committed" : "poisoned"; }

std::string_view NameOf(JournalFlaw::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"damaged",   "missing",   "header_copy",
                                                      "torn_tail", "not_begun", "superseded"};
  return kNames.at(static_cast<size_t>(kind));
}

std::string Base64(ByteView bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  text.pop_back();  // its NUL
  return text;
}

bool IsText(ByteView bytes) { return config::FirstInvalidUtf8(AsText(bytes)) == bytes.size(); }

// A payload as a member of an object: its name and its value, which is JSON.
struct Member {
  std::string_view name;
  std::string value;
};

// JSON as it is: no number changes. A line break is white space there, but this line's end.
std::string OnOneLine(std::string_view json) {
  std::string line(json);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

Member PayloadOf(const JournalRecord& record) {
  const std::string_view text = AsText(record.payload);
  if (record.ending == Ending::kPoisoned) return {"error", Quoted(text)};
  if (record.format == Format::kJson && Json::accept(text)) return {"result", OnOneLine(text)};
  if (record.format != Format::kPickle && IsText(record.payload)) return {"result", Quoted(text)};
  return {"result_base64", '"' + Base64(record.payload) + '"'};
}

std::string JsonLine(const JournalRecord& record) {
  Json object;
  object["index"] = record.item;
  object["key"] = record.key;
  object["ending"] = NameOf(record.ending);
  object["rank"] = record.rank;
  object["node"] = record.node;
  object["attempts"] = record.attempts;
  object["seconds"] = Seconds(record.took);
  object["format"] = NameOf(record.format);
  std::string line = Dump(object);
  const Member payload = PayloadOf(record);
  line.back() = ',';
  return line + fmt::format("\"{}\":{}}}\n", payload.name, payload.value);
}

// RFC 4180, with a line feed at the end of a line.
std::string Cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string CsvLine(const JournalRecord& record) {
  const bool poisoned = record.ending == Ending::kPoisoned;
  const bool text = record.format != Format::kPickle && IsText(record.payload);
  const std::string payload = text || poisoned ? std::string(AsText(record.payload)) : Base64(record.payload);
  return fmt::format("{},{},{},{},{},{},{:.6f},{},{},{},{}\n", record.item, Cell(record.key),
                     NameOf(record.ending), record.rank, Cell(record.node), record.attempts,
                     Seconds(record.took), NameOf(record.format), text || poisoned ? "text" : "base64",
                     poisoned ? "" : Cell(payload), poisoned ? Cell(payload) : "");
}

uint64_t LeftOf(const JournalReader& journal) {
  const uint64_t ended = journal.index().committed() + journal.index().poisoned();
  return journal.identity().items - std::min(ended, journal.identity().items);
}

std::string StartOf(const SegmentHeader& header) {
  return FormatTime(std::chrono::system_clock::time_point(std::chrono::microseconds(header.started)));
}

// The last line with text.
std::string LastLine(std::string_view error) {
  error = Trim(error);
  const size_t end = error.rfind('\n');
  std::string_view line = Trim(end == std::string_view::npos ? error : error.substr(end + 1));
  return Quoted(line.substr(0, kLongestError));
}

// The facts of records that a summary shows; of the rest nothing is kept.
struct Remarkable {
  std::vector<std::string> poisoned;
  std::vector<JournalRecord> slowest;  // without payload, the slowest first

  void Add(const JournalRecord& record) {
    if (record.ending == Ending::kPoisoned) {
      if (poisoned.size() < kMostLines) {
        poisoned.push_back(fmt::format("  {} {}, {} attempts, rank {} on {}: {}\n", record.item,
                                       Quoted(record.key), record.attempts, record.rank, record.node,
                                       LastLine(AsText(record.payload))));
      }
      return;
    }
    const auto slower = [](const JournalRecord& a, const JournalRecord& b) { return a.took > b.took; };
    if (slowest.size() == kMostLines && !slower(record, slowest.back())) return;
    JournalRecord kept = record;
    kept.payload = {};
    slowest.insert(std::ranges::upper_bound(slowest, kept, slower), std::move(kept));
    if (slowest.size() > kMostLines) slowest.pop_back();
  }
};

std::string Runs(const JournalReader& journal) {
  const auto& segments = journal.segments();
  const size_t first = segments.size() > kMostLines ? segments.size() - kMostLines : 0;
  std::string out = "\nruns:\n";
  if (first > 0) out += fmt::format("  {} earlier ones\n", first);
  for (size_t i = first; i < segments.size(); ++i) {
    const JournalReader::Segment& segment = segments[i];
    const JournalOwner& owner = segment.header.owner;
    const bool newest = i + 1 == segments.size();
    out += fmt::format("  {} {} process {} on {}{}{}: {} records{}\n", segment.header.term,
                       StartOf(segment.header), owner.pid, owner.node, owner.job.empty() ? "" : ", ",
                       owner.job, segment.records,
                       segment.closed ? ""
                       : newest       ? "; at work, or interrupted"
                                      : "; interrupted");
  }
  return out;
}

std::string Flaws(const JournalReader& journal) {
  std::string out;
  for (const JournalFlaw& flaw : journal.flaws()) out += Describe(flaw) + "\n";
  return out;
}

}  // namespace

Result<std::string> JournalSummary(JournalReader& journal, std::string_view path) {
  Remarkable remarkable;
  MUSTER_CHECK(journal.Visit([&](const JournalRecord& record) -> Status {
    remarkable.Add(record);
    return {};
  }));
  const JournalIndex& index = journal.index();
  std::string out = fmt::format("{}: {}\n{} items: {} committed, {} given up, {} left\n", path,
                                Quoted(journal.identity().subject), journal.identity().items,
                                index.committed(), index.poisoned(), LeftOf(journal));
  if (journal.second_commits() > 0) {
    out += fmt::format("{} records do not count: their items had been committed before\n",
                       journal.second_commits());
  }
  out += Runs(journal);
  if (!remarkable.poisoned.empty()) {
    out += "\ngiven up:\n";
    for (const std::string& line : remarkable.poisoned) out += line;
    if (index.poisoned() > remarkable.poisoned.size()) {
      out += fmt::format("  and {} more: --json has them\n", index.poisoned() - remarkable.poisoned.size());
    }
  }
  if (!remarkable.slowest.empty()) out += "\nslowest:\n";
  for (const JournalRecord& record : remarkable.slowest) {
    out += fmt::format("  {} {}, {}, rank {} on {}\n", record.item, Quoted(record.key),
                       FormatSeconds(record.took), record.rank, record.node);
  }
  const std::string flaws = Flaws(journal);
  return Printable(flaws.empty() ? out : out + "\n" + flaws, "\n");
}

Status WriteJsonLines(JournalReader& journal, const TextSink& sink) {
  return journal.Visit([&](const JournalRecord& record) { return sink(JsonLine(record)); });
}

Status WriteCsv(JournalReader& journal, const TextSink& sink) {
  MUSTER_CHECK(sink("index,key,ending,rank,node,attempts,seconds,format,encoding,result,error\n"));
  return journal.Visit([&](const JournalRecord& record) { return sink(CsvLine(record)); });
}

Status WriteMerged(JournalReader& journal, char separator, const TextSink& sink) {
  return journal.Visit([&](const JournalRecord& record) -> Status {
    if (record.ending != Ending::kCommitted) return {};
    if (record.format == Format::kPickle) {
      return WithHint(
          Fail(Code::kUsage, "the result of item {}, {}, is a Python object (pickle): it is no text to merge",
               record.item, Quoted(record.key)),
          "return JSON, text or bytes; --json has pickles as base64");
    }
    MUSTER_CHECK(sink(AsText(record.payload)));
    return sink({&separator, 1});
  });
}

bool IsWhole(const JournalReader& journal) { return !std::ranges::any_of(journal.flaws(), IsDamage); }

std::string VerifyText(const JournalReader& journal, std::string_view path) {
  uint64_t records = 0;
  for (const JournalReader::Segment& segment : journal.segments()) records += segment.records;
  return Printable(
      Flaws(journal) + fmt::format("{}: {} segments, {} records: {}\n", path, journal.segments().size(),
                                   records, IsWhole(journal) ? "whole" : "damaged"),
      "\n");
}

std::string VerifyJson(const JournalReader& journal, std::string_view path) {
  Json object;
  object["journal"] = path;
  object["whole"] = IsWhole(journal);
  object["items"] = journal.identity().items;
  object["committed"] = journal.index().committed();
  object["poisoned"] = journal.index().poisoned();
  object["left"] = LeftOf(journal);
  object["second_commits"] = journal.second_commits();
  object["segments"] = Json::array();
  for (const JournalReader::Segment& segment : journal.segments()) {
    const JournalOwner& owner = segment.header.owner;
    object["segments"].push_back({{"file", segment.file},
                                  {"term", segment.header.term},
                                  {"started", StartOf(segment.header)},
                                  {"node", owner.node},
                                  {"pid", owner.pid},
                                  {"job", owner.job},
                                  {"records", segment.records},
                                  {"bytes", segment.bytes},
                                  {"closed", segment.closed}});
  }
  object["flaws"] = Json::array();
  for (const JournalFlaw& flaw : journal.flaws()) {
    object["flaws"].push_back({{"kind", NameOf(flaw.kind)},
                               {"file", flaw.file},
                               {"offset", flaw.offset},
                               {"bytes", flaw.bytes},
                               {"item", flaw.item ? Json(*flaw.item) : Json(nullptr)},
                               {"message", Describe(flaw)}});
  }
  return Dump(object) + "\n";
}

}  // namespace muster::map

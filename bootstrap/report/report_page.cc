#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bootstrap/report/report.h"
#include "bootstrap/report/summary.h"
#include "comm/base/lists.h"

namespace muster::report {
namespace {

// The text of page.html as a literal.
constexpr std::string_view kPage =
#include "bootstrap/report/page.inc"
    ;
constexpr std::string_view kSummaryMark = "@SUMMARY@";
constexpr std::string_view kReportMark = "@REPORT@";
constexpr size_t kSummaryPlace = kPage.find(kSummaryMark);
constexpr size_t kReportPlace = kPage.find(kReportMark);
static_assert(kReportPlace != std::string_view::npos, "page.html has no place for the report");
static_assert(kSummaryPlace < kReportPlace, "page.html has no place for the summary, above the report");

// For a browser that does not run the script.
std::string PlainSummary(const RunRecord& record) {
  std::set<std::string> nodes;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.node.empty()) nodes.insert(rank.node);
  }
  const std::string places = FormatNodes({nodes.begin(), nodes.end()});
  std::string text =
      fmt::format("{}{} ranks{}, exit status {}", record.job.empty() ? "" : record.job + ": ",
                  record.ranks.size(), places.empty() ? "" : " on " + places, record.exit_status);
  if (record.failure) {
    const std::string& hint = record.failure->error.hint;
    return text + "\n" + SummaryText(record) + (hint.empty() ? "" : "\n  what to do: " + hint);
  }
  for (const auto& [outcome, ranks] : RanksByOutcome(record)) {
    if (!ranks.empty())
      text += fmt::format("\n  {}: ranks {}", OutcomeName(outcome), FormatSomeRanges(ranks));
  }
  return text;
}

// `text` without '<', of which `instead` takes the place: no text can end its element, or begin another one.
std::string WithoutTags(std::string_view text, std::string_view instead) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += instead;
    } else {
      safe += c;
    }
  }
  return safe;
}

// The output of programs may be no text at all.
std::string Readable(std::string_view text) {
  using nlohmann::json;
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string readable = json::parse(quoted).get<std::string>();
  std::erase_if(readable, [](char c) { return c >= '\0' && c < ' ' && c != '\n'; });
  return readable;
}

// '&' as well: the text shall be read as it is.
std::string AsHtml(std::string_view text) {
  std::string safe;
  for (const char c : Readable(text)) {
    if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return WithoutTags(safe, "&lt;");
}

}  // namespace

std::string ReportPage(const RunRecord& record, std::string_view version) {
  std::string page(kPage.substr(0, kSummaryPlace));
  page.append(AsHtml(PlainSummary(record)));
  constexpr size_t kBetween = kSummaryPlace + kSummaryMark.size();
  page.append(kPage.substr(kBetween, kReportPlace - kBetween));
  // JSON has it only in strings.
  page.append(WithoutTags(ReportJson(record, version), "\\u003c"));
  return page.append(kPage.substr(kReportPlace + kReportMark.size()));
}

}  // namespace muster::report

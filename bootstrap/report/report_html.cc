#include <fmt/core.h>

#include <algorithm>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/report/map_report.h"
#include "bootstrap/report/report.h"
#include "bootstrap/report/summary.h"
#include "bootstrap/report/timeline.h"
#include "bootstrap/resolve/slurm/hostlist.h"
#include "comm/base/parse.h"
#include "comm/base/some_ranges.h"
#include "comm/log/log_json.h"

namespace muster::report {
namespace {

constexpr size_t kMostRows = 30;
constexpr size_t kSlowest = 10;
constexpr size_t kRangesInARow = 4;
constexpr size_t kLongestNodes = 60;

constexpr std::string_view kStyle = R"(
:root { --ink: #1d2430; --soft: #667085; --paper: #fff; --line: #d9dee7; --wait: #c7d2e5; --init: #8fa8d4;
  --ok: #3f9d63; --failed: #c62f2f; --terminated: #d9a13b; --killed: #b5651d; --lost: #7a4fa3; --missing: #8b93a1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #98a2b3; --paper: #14181f; --line: #2d3442;
  --wait: #3a475e; --init: #4f6796; } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; overflow-x: hidden; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
.soft { color: var(--soft); } code, pre { font: 12.5px/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .7rem; border: 1px solid var(--line); border-radius: 6px; }
.badge { color: #fff; border-radius: 4px; padding: .05rem .45rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top;
  font-weight: normal; } th { color: var(--soft); }
.row { display: flex; border-top: 1px solid var(--line); min-height: 1.9rem; align-items: center; }
.who { flex: 0 0 19rem; overflow: hidden; text-overflow: ellipsis; padding-right: .8rem; font-size: 13px;
  line-height: 1.25; padding: .2rem .8rem .2rem 0; }
.track { position: relative; flex: 1; height: 1.1rem; }
.track i { position: absolute; top: 0; bottom: 0; min-width: 2px; border-radius: 2px; }
.mark { position: absolute; top: -.45rem; bottom: -.45rem; width: 0; border-left: 1px dashed var(--failed); }
.formed { position: absolute; top: -.45rem; bottom: -.45rem; width: 0; border-left: 1px solid var(--soft); }
.axis { min-height: 1.4rem; border: 0; } .axis span { position: absolute; transform: translateX(-50%);
  color: var(--soft); font-size: 12px; white-space: nowrap; }
.wait { background: var(--wait); } .init { background: var(--init); } .ok { background: var(--ok); }
.failed { background: var(--failed); } .terminated { background: var(--terminated); }
.killed { background: var(--killed); } .lost { background: var(--lost); } .not_started { background: var(--missing); }
.missing { background: repeating-linear-gradient(45deg, var(--missing) 0 4px, transparent 4px 8px); }
.legend i { display: inline-block; width: .9rem; height: .7rem; margin: 0 .3rem 0 1rem; border-radius: 2px; }
)";

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Nodes(const std::vector<std::string>& nodes) {
  std::string text = resolve::CompressHostlist(nodes);
  if (text.size() > kLongestNodes) text = fmt::format("{} ... {}", nodes.front(), nodes.back());
  return nodes.size() > 1 ? fmt::format("{} ({} nodes)", text, nodes.size()) : text;
}

std::string_view Words(RankOutcome outcome) {
  switch (outcome) {
    case RankOutcome::kOk:
      return "ended with 0";
    case RankOutcome::kFailed:
      return "failed";
    case RankOutcome::kTerminated:
      return "ended by SIGTERM, because the group had failed";
    case RankOutcome::kKilled:
      return "ended by SIGKILL after run.grace";
    case RankOutcome::kLost:
      return "lost: nothing is known of the end";
    case RankOutcome::kMissing:
      return "never arrived";
    case RankOutcome::kNotStarted:
      return "arrived, never started";
  }
  return "";
}

std::string Head(const RunRecord& record, std::string_view version) {
  const std::string_view word = record.failure || record.exit_status != 0 ? "failed" : "ok";
  const std::string title = record.job.empty() ? "muster run" : record.job;
  std::string command;
  for (const std::string& argument : record.command)
    command += (command.empty() ? "" : " ") + config::ShellQuoted(argument);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}: {1}</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><style>{2}</style></head><body>\n"
      "<h1>{0} <span class=\"badge {1}\">{1}</span></h1>\n"
      "<p class=\"soft\">{3} ranks, began {4}, {5}, exit status {6}; muster {7}<br><code>{8}</code></p>\n",
      Escape(title), word, kStyle, record.ranks.size(), FormatTime(record.began), FormatSpan(record.ended),
      record.exit_status, Escape(version), Escape(command));
}

std::string FailureBox(const RunRecord& record) {
  if (!record.failure) return "";
  const rendezvous::Failure& failure = *record.failure;
  std::string text =
      fmt::format("<h2>First failure</h2>\n<p>{}<br><span class=\"soft\">after {}</span></p>\n",
                  Escape(ToString(failure.error)), FormatSpan(record.failed.value_or(record.ended)));
  if (!failure.stderr_tail.empty()) {
    text += fmt::format("<p class=\"soft\">The last lines of {}:</p>\n<pre>{}</pre>\n",
                        Escape(DescribeRank(record, failure.rank)), Escape(failure.stderr_tail));
  }
  return text;
}

std::string Bar(const TimeScale& scale, Duration from, Duration to, std::string_view style) {
  const double left = scale.Percent(from);
  return fmt::format("<i class=\"{}\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>", style, left,
                     std::max(0.0, scale.Percent(to) - left));
}

std::string Between(std::string_view what, const std::optional<Moment>& first,
                    const std::optional<Moment>& last) {
  if (!first) return "";
  if (first->at == last->at) return fmt::format("{} at {}\n", what, FormatSpan(first->at));
  return fmt::format("{} between {} (rank {}) and {} (rank {})\n", what, FormatSpan(first->at), first->rank,
                     FormatSpan(last->at), last->rank);
}

std::string Bars(const RunRecord& record, const TimelineRow& row, const TimeScale& scale) {
  if (row.outcome == RankOutcome::kMissing) return Bar(scale, record.joining, record.ended, "missing");
  std::string bars;
  const Duration came = row.first_arrival ? row.first_arrival->at : record.joining;
  bars += Bar(scale, came, record.formed.value_or(record.ended), "wait");
  if (!record.formed) {
    if (row.outcome == RankOutcome::kFailed) bars += Bar(scale, came, record.ended, "failed");
    return bars;
  }
  const Duration end = row.last_end ? row.last_end->at : record.ended;
  const Duration ready = std::min(record.initialized.value_or(*record.formed), end);
  if (record.initialized) bars += Bar(scale, *record.formed, ready, "init");
  return bars + Bar(scale, ready, end, OutcomeName(row.outcome));
}

std::string Timeline(const RunRecord& record) {
  const TimeScale scale(record);
  std::string text = "<h2>Timeline</h2>\n";
  const std::string formed = record.formed ? fmt::format("<b class=\"formed\" style=\"left:{:.2f}%\"></b>",
                                                         scale.Percent(*record.formed))
                                           : "";
  const std::string mark = record.failed ? fmt::format("<b class=\"mark\" style=\"left:{:.2f}%\"></b>",
                                                       scale.Percent(*record.failed))
                                         : "";
  for (const TimelineRow& row : TimelineRows(record, kMostRows)) {
    const std::string title =
        fmt::format("ranks {}: {}\n{}{}", FormatSomeRanges(row.ranks), Words(row.outcome),
                    Between("arrived", row.first_arrival, row.last_arrival),
                    Between("ended", row.first_end, row.last_end));
    text += fmt::format(
        "<div class=\"row\" title=\"{}\"><div class=\"who\">{}{} {}{}<br><span class=\"soft\">{}</span></div>"
        "<div class=\"track\">{}{}</div></div>\n",
        Escape(title), row.first_failure ? "<b>" : "", row.ranks.size() == 1 ? "rank" : "ranks",
        FormatSomeRanges(row.ranks, kRangesInARow), row.first_failure ? "</b>" : "", Escape(Nodes(row.nodes)),
        Bars(record, row, scale), formed + mark);
  }
  text += "<div class=\"row axis\"><div class=\"who\"></div><div class=\"track\">";
  for (const Duration tick : scale.Ticks()) {
    text += fmt::format("<span style=\"left:{:.2f}%\">{}</span>", scale.Percent(tick),
                        tick == Duration{} ? "0" : FormatSpan(tick));
  }
  text += "</div></div>\n";
  if (scale.split()) text += "<p class=\"soft\">The start, at the left, has a scale of its own.</p>\n";
  text += "<p class=\"legend soft\"><i class=\"wait\"></i>waiting for the others";
  if (record.initialized) text += "<i class=\"init\"></i>initialising";
  for (const auto& [outcome, ranks] : RanksByOutcome(record)) {
    text += fmt::format("<i class=\"{}\"></i>{}", OutcomeName(outcome), Words(outcome));
  }
  text += "<br>";
  if (record.formed) text += "Solid line: the group has formed. ";
  if (record.failed) text += "Dashed line: the first failure.";
  return text + "</p>\n";
}

std::string Outcomes(const RunRecord& record) {
  std::string text = "<h2>Ranks</h2>\n<table>\n";
  for (const auto& [outcome, ranks] : RanksByOutcome(record)) {
    text += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n", Words(outcome),
                        CountRanks(ranks.size()), FormatSomeRanges(ranks));
  }
  return text + "</table>\n";
}

std::string Slowest(const RunRecord& record, std::string_view title, const std::vector<Moment>& moments) {
  if (moments.size() < 2) return "";
  std::string text =
      fmt::format("<h2>{}</h2>\n<table><tr><th>rank</th><th>node</th><th>at</th></tr>\n", title);
  for (size_t i = 0; i < std::min(moments.size(), kSlowest); ++i) {
    const Moment& moment = moments[moments.size() - 1 - i];
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", moment.rank,
                        Escape(record.ranks[static_cast<size_t>(moment.rank)].node), FormatSpan(moment.at));
  }
  return text + fmt::format("</table><p class=\"soft\">The first was {} at {}.</p>\n",
                            Escape(DescribeRank(record, moments.front().rank)),
                            FormatSpan(moments.front().at));
}

std::string Phases(const RunRecord& record) {
  std::string text = "<h2>Phases</h2>\n<table>\n";
  const auto row = [&](std::string_view name, Duration from, Duration to) {
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, FormatSpan(to - from));
  };
  row("resolve", {}, record.joining);
  row(record.formed ? "rendezvous" : "rendezvous (it did not form)", record.joining,
      record.formed.value_or(record.ended));
  const std::optional<Duration> ready = record.initialized ? record.initialized : record.formed;
  if (record.initialized) row("init", *record.formed, *record.initialized);
  if (ready) row("run", *ready, record.ended);
  return text + "</table>\n";
}

std::string Maps(const RunRecord& record) {
  std::string text;
  for (const map::MapState& map : record.maps)
    text += MapText(map, [&](int rank) { return record.ranks[static_cast<size_t>(rank)].node; });
  return text.empty() ? "" : fmt::format("<h2>Maps</h2>\n<pre>{}</pre>\n", Escape(text));
}

}  // namespace

std::string ReportHtml(const RunRecord& record, std::string_view version) {
  return Head(record, version) + FailureBox(record) + Timeline(record) + Outcomes(record) + Maps(record) +
         Phases(record) + Slowest(record, "Last to arrive", ArrivalsInOrder(record)) +
         Slowest(record, "Last to end", EndsInOrder(record)) + "</body></html>\n";
}

}  // namespace muster::report

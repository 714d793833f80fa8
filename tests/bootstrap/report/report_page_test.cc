// The page as a browser gets it, and as its script draws it (page_driver.js, in SpiderMonkey: deploy/setup).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "bootstrap/report/report.h"
#include "tests/bootstrap/run/records.h"
#include "tests/comm/map/map_at_work.h"

namespace muster::report {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kBefore = "<script type=\"application/json\" id=\"report\">";

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The report in the page, as an HTML parser finds it: up to the first end tag.
json ReportIn(const std::string& page) {
  const size_t begin = page.find(kBefore) + kBefore.size();
  return json::parse(page.substr(begin, page.find("</script", begin) - begin));
}

// The page as text, after `events`. The page itself stays in the test's outputs, to be looked at in a browser.
std::string Drawn(const RunRecord& record, const std::string& name, const std::string& events = "") {
  const char* outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = (outputs ? outputs + std::string("/") : testing::TempDir()) + name + ".html";
  std::ofstream(path) << ReportPage(record, "0.1.0");
  const std::string command = "gjs tests/bootstrap/report/page_driver.js '" + path + "' " + events + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << "gjs is missing (deploy/setup), or the page's script failed: " << text;
  return text;
}

size_t TimelineRows(const std::string& text) {
  const size_t begin = text.find("\nTimeline\n");
  return Count(text.substr(begin, text.find("\nOutcomes\n") - begin), " | <");
}

TEST(ReportPage, HasTheReportAndNeedsNoOtherFile) {
  const std::string page = ReportPage(run::FailedRun(), "0.1.0");
  EXPECT_EQ(ReportIn(page), json::parse(ReportJson(run::FailedRun(), "0.1.0")));
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "url(", "@import", "@REPORT@", "@SUMMARY@"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none';"));
  for (const char* as_code : {"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(as_code)));
  }
}

// Characters of a command line or of a program's last lines are text.
TEST(ReportPage, RunsNoCodeOfTheReport) {
  RunRecord record = run::FailedRun();
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  record.job = "</title><script>document.title = 'taken'</script>";
  record.command = {"</script><script>print('TAKEN')</script>",
                    "<!-- <script>",
                    "\"'`${print('TAKEN')}",
                    bytes,
                    "\xe2\x80\xa8",
                    "@REPORT@",
                    "<img onerror=print('TAKEN')>"};
  record.failure->stderr_tail = "]]> </SCRIPT >\n<script>print('TAKEN')</script>\n" + bytes;
  record.failure->error.message = "</script><svg onload=print('TAKEN')>";
  record.ranks[9].node = "<b>\"";
  const std::string page = ReportPage(record, "</script>");
  EXPECT_EQ(ReportIn(page), json::parse(ReportJson(record, "</script>")));
  // The elements are those of the static page.
  const std::string empty = ReportPage(RunRecord(), "0.1.0");
  for (const char* mark : {"<", "</", "<script", "</script", "<!--"})
    EXPECT_EQ(Count(page, mark), Count(empty, mark));

  const std::string text = Drawn(record, "hostile");
  EXPECT_THAT(text, StartsWith("</title><script>document.title = 'taken'</script>: failed\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nTAKEN")));
  EXPECT_THAT(text, HasSubstr("command: '</script><script>print('\\''TAKEN'\\'')</script>' '<!-- <script>'"));
  EXPECT_THAT(text, HasSubstr("\n</script><svg onload=print('TAKEN')>\n"));
}

TEST(ReportPage, OfAFailedRun) {
  const std::string text = Drawn(run::FailedRun(), "failed");
  EXPECT_THAT(
      text,
      StartsWith("slurm:4.0:0: failed\n\nslurm:4.0:0 failed\n"
                 "command: python evaluate.py --task 'a <b>'\n"
                 "ranks: 16 ranks on gpu[01-04] (4 nodes)\n"
                 "began: 2026-11-22T02:10:40.007Z, for 22.3 s\n"
                 "exit status: 3\n"
                 "First failure\n"
                 "rank 9 on gpu03 failed: exit 3\n"
                 "after 12.3 s, at 2026-11-22T02:10:52.317Z\n"
                 "The last lines of rank 9 on gpu03:\n"
                 "Traceback (most recent call last):\n  File \"x.py\", line 3\nRuntimeError: <boom>\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nfailed | 1 | 9\n"
                "ended by SIGKILL, after run.grace | 1 | 6\n"
                "ended by SIGTERM, because the group had failed, or on request | 13 | 0-5,7,8,10-13,15\n"
                "exited with 0 | 1 | 14\n"));
  EXPECT_THAT(text, HasSubstr("\nnodes | number | ranks on each\n"
                              "gpu01 | 1 | 4 terminated\n"
                              "gpu02 | 1 | 1 killed, 3 terminated\n"
                              "gpu03 | 1 | 1 failed, 3 terminated\n"
                              "gpu04 | 1 | 3 terminated, 1 ok\n"));
  EXPECT_THAT(text, HasSubstr("\nrendezvous | 307 ms | rank 0 on gpu01, 3 ms | rank 15 on gpu04, 87 ms\n"));
  EXPECT_THAT(text, HasSubstr("\n6 | gpu02 | killed |  | 9 | no | 37 ms | 22.0 s\n"));
  EXPECT_THAT(text, Not(HasSubstr("Maps")));
}

// A start that is a small part of the run has a third of the width; the worst ranks come first.
TEST(ReportPage, HasATimeline) {
  const std::string text = Drawn(run::FailedRun(), "timeline");
  const std::string marks = "<left:33.00%><fails left:69.55%>\n";
  EXPECT_THAT(text, HasSubstr("\nrank 9: first failure | gpu03 | failed | 54 ms | 12.3 s | "
                              "<wait left:5.71%;width:27.29%><failed left:33.00%;width:36.55%>" +
                              marks));
  EXPECT_THAT(text, HasSubstr("\nrank 6 | gpu02 | killed | 37 ms | 22.3 s | "
                              "<wait left:3.91%;width:29.09%><killed left:33.00%;width:67.00%>" +
                              marks));
  EXPECT_LT(text.find("rank 9: first failure"), text.find("\nrank 6 |"));
  EXPECT_LT(text.find("\nrank 6 |"), text.find("| terminated |"));
  EXPECT_LT(text.find("| terminated |"), text.find("\nrank 14 |"));
  EXPECT_THAT(text, HasSubstr(" | 0200 ms10 s20 s\n"));
}

TEST(ReportPage, HasOneScaleIfTheStartIsMostOfTheRun) {
  RunRecord record = run::FailedRun();
  record.formed = seconds(10);
  record.initialized = seconds(11);
  EXPECT_THAT(Drawn(record, "slow_start"),
              AllOf(HasSubstr(" | 05 s10 s15 s20 s\n"), HasSubstr("<init left:44.82%;width:4.48%>")));
}

// The labels of an axis: each names its own place, and the step decides how exactly.
std::string AxisOf(Duration start, Duration end, const std::string& name) {
  RunRecord record = run::GoodRun(1, 1, end);
  record.joining = *(record.formed = start);
  record.ended = end;
  record.ranks[0].end->run = end - start;
  const std::string text = Drawn(record, name);
  const std::string_view row = "\n |  |  |  |  | ";
  const size_t at = text.find(row);
  return at == std::string::npos ? text
                                 : text.substr(at + row.size(), text.find('\n', at + 1) - at - row.size());
}

TEST(ReportPage, LabelsShortAndLongRuns) {
  EXPECT_EQ(AxisOf(milliseconds(0), milliseconds(3), "axis_3ms"), "01 ms2 ms3 ms");
  EXPECT_EQ(AxisOf(milliseconds(20), milliseconds(90), "axis_90ms"), "020 ms40 ms60 ms80 ms");
  EXPECT_EQ(AxisOf(milliseconds(800), milliseconds(1300), "axis_1s"), "0500 ms1.0 s");
  EXPECT_EQ(AxisOf(seconds(2), seconds(5000), "axis_hours"), "01 s2 s30 min60 min");
  EXPECT_EQ(AxisOf(seconds(2), std::chrono::hours(50), "axis_days"), "01 s2 s24 h48 h");
}

// The text of the page between the tags of an element, as a browser without JavaScript shows it.
std::string PlainTextOf(const std::string& page) {
  const size_t begin = page.find("<noscript><p>");
  std::string text = page.substr(begin, page.find("</noscript>", begin) - begin);
  text = std::regex_replace(text, std::regex("<[^>]*>"), "");
  text = std::regex_replace(text, std::regex("&lt;"), "<");
  return std::regex_replace(text, std::regex("&amp;"), "&");
}

TEST(ReportPage, HasTheEssentialsWithoutJavaScript) {
  RunRecord record = run::FailedRun();
  record.failure->stderr_tail = "a < b && c &lt; d";
  EXPECT_THAT(
      PlainTextOf(ReportPage(record, "0.1.0")),
      HasSubstr("\nslurm:4.0:0: 16 ranks on gpu[01-04], exit status 3\n"
                "the run failed after 12.3 s: rank 9 on gpu03 failed: exit 3\n"
                "  the last lines of rank 9 on gpu03:\n"
                "    a < b && c &lt; d\n"
                "  ended because of it: ranks 0-5,7,8,10-13,15 by SIGTERM; rank 6 on gpu02 by SIGKILL"));
  EXPECT_THAT(PlainTextOf(ReportPage(run::GoodRun(2048, 64), "0.1.0")),
              HasSubstr("2048 ranks on gpu[01-32], exit status 0\n  ok: ranks 0-2047\n"));
  EXPECT_THAT(PlainTextOf(ReportPage(run::NeverFormed(), "0.1.0")), HasSubstr("missing gpu03: 8-11"));
}

// x^2.4 is x^2 times the fifth root of x^2, by Newton's method.
double PowerOf2Point4(double x) {
  const double square = x * x;
  double root = 1;
  for (int i = 0; i < 60; ++i)
    root -= (root * root * root * root * root - square) / (5 * root * root * root * root);
  return square * root;
}

// By the formula of WCAG 2.
double Luminance(const std::string& colour) {
  const std::string digits =
      colour.size() == 4 ? std::string{colour[1], colour[1], colour[2], colour[2], colour[3], colour[3]}
                         : colour.substr(1);
  double sum = 0;
  for (const auto& [at, weight] : std::map<size_t, double>{{0, 0.2126}, {2, 0.7152}, {4, 0.0722}}) {
    const double part = std::stoi(digits.substr(at, 2), nullptr, 16) / 255.0;
    sum += weight * (part <= 0.03928 ? part / 12.92 : PowerOf2Point4((part + 0.055) / 1.055));
  }
  return sum;
}

double Contrast(const std::string& one, const std::string& two) {
  const auto [dark, light] = std::minmax({Luminance(one), Luminance(two)});
  return (light + 0.05) / (dark + 0.05);
}

TEST(ReportPage, HasContrastInLightAndInDark) {
  const std::string page = ReportPage(RunRecord(), "0.1.0");
  const std::regex palette(":root \\{ (--ink[^}]*)\\}");
  const std::regex entry("--(\\w+): (#[0-9a-f]+)");
  int palettes = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), palette), end; it != end; ++it, ++palettes) {
    const std::string text = (*it)[1];
    std::map<std::string, std::string> colours;
    for (std::sregex_iterator colour(text.begin(), text.end(), entry); colour != end; ++colour)
      colours[(*colour)[1]] = (*colour)[2];
    // Texts, and what badges have behind their texts.
    for (const char* name : {"ink", "soft", "ok", "failed"})
      EXPECT_GE(Contrast(colours.at(name), colours.at("paper")), 4.5) << name;
    for (const char* bar : {"wait", "init", "terminated", "killed", "lost", "missing"})
      EXPECT_GE(Contrast(colours.at(bar), colours.at("paper")), 3) << bar;
  }
  EXPECT_EQ(palettes, 2);
}

TEST(ReportPage, OpensShortTablesForPaper) {
  const RunRecord record = run::FailedRun();
  EXPECT_THAT(Drawn(record, "paper", "print"), HasSubstr("opened for print: A table of 16 ranks\n"));
  EXPECT_THAT(Drawn(run::GoodRun(200, 4), "long_paper", "print"),
              Not(HasSubstr("opened for print: A table")));
}

// Every part that reacts is an element that the keyboard reaches by itself.
TEST(ReportPage, NeedsNoMouse) {
  const std::string page = ReportPage(RunRecord(), "0.1.0");
  for (const char* kind : {"tabindex", "onclick", "mousedown", "mouseover", "outline: none", "outline: 0"})
    EXPECT_THAT(page, Not(HasSubstr(kind)));
  EXPECT_THAT(page, HasSubstr(":focus-visible { outline: 2px"));
  EXPECT_EQ(Count(page, "addEventListener('click'"), 1U) << "the buttons of the heads";
  EXPECT_THAT(page, HasSubstr("make('button', {type: 'button'}, title)"));
}

TEST(ReportPage, OfAGroupThatNeverFormed) {
  const std::string text = Drawn(run::NeverFormed(), "never_formed");
  EXPECT_THAT(
      text,
      HasSubstr("\nthe group did not form within 20s: 12/16 ranks; missing gpu03: 8-11 (wait longer)\n"));
  EXPECT_THAT(text, HasSubstr("\nranks 8-11 | gpu03 | missing |  |  | <missing left:"));
  EXPECT_THAT(text, HasSubstr("\nnever arrived | 4 | 8-11\n"));
  EXPECT_THAT(text, HasSubstr("\nrendezvous | did not end |"));
}

TEST(ReportPage, OfThousandsHasSomeDozenRows) {
  RunRecord record = run::GoodRun(2048, 64, seconds(10));
  record.formed = seconds(11);
  record.ended = seconds(71);
  record.ranks[700].end->run = seconds(40);
  const std::string all = Drawn(record, "thousands");
  EXPECT_EQ(Count(all, " | 60.0 s\n") + Count(all, " | 40.0 s\n"), 1000U);
  EXPECT_EQ(Count(all, "2048 of 2048, the first 1000 are shown\n"), 1U);
  const std::string text = Drawn(record, "thousands", "input who gpu11");
  EXPECT_LE(TimelineRows(text), 31U);
  EXPECT_GT(TimelineRows(text), 6U);
  EXPECT_THAT(text, HasSubstr("\nranks: 2048 ranks on gpu[01-32] (32 nodes)\n"));
  EXPECT_THAT(text, HasSubstr("\ngpu[01-32] | 32 | 64 ok\n"));
  EXPECT_THAT(text, HasSubstr("\nrank 700 | gpu11 | ok | 3.4 s | 51.0 s |"));
  EXPECT_LT(ReportPage(record, "0.1.0").size(), ReportJson(record, "0.1.0").size() + 30000);
}

TEST(ReportPage, FiltersAndSortsItsRanks) {
  const RunRecord record = run::FailedRun();
  EXPECT_THAT(Drawn(record, "filter", "input who 6,13-14"),
              AllOf(HasSubstr("3 of 16\n"), HasSubstr("\n6 | gpu02 |"), Not(HasSubstr("\n7 | gpu02 |"))));
  EXPECT_THAT(Drawn(record, "filter", "input who gpu03 input outcome failed"),
              AllOf(HasSubstr("1 of 16\n"), HasSubstr("\n9 | gpu03 | failed | 3 |")));
  EXPECT_THAT(Drawn(record, "filter", "click 'ran for' click 'ran for' input who 5-7"),
              HasSubstr("\n6 | gpu02 | killed |  | 9 | no | 37 ms | 22.0 s\n5 |"));
}

TEST(ReportPage, HasTheMaps) {
  RunRecord record = run::GoodRun(2, 1);
  record.maps = {map::MapAtWork()};
  record.maps.front().failed.front().error = "ValueError: no <such> file";
  const std::string text = Drawn(record, "map");
  EXPECT_THAT(text, HasSubstr("\nMaps\npython eval.py {model}: at work for 10.0 s\n"
                              "<ok width:29.00%><failed width:0.50%>\n"
                              "items: 118 of 400 done, 2 of them failed, 20 by earlier runs\n"
                              "journal: /scratch/out/journal\n"
                              "busy: 97 % of the time (median of the ranks; 97 % to 97 %)\n"));
  EXPECT_THAT(text, HasSubstr("\nq9 | rank 0 on gpu01 | 20 ms | ValueError: no <such> file\n"
                              "number 9 | rank 1 on gpu02 | <1 ms | \nFailed first\n"));
  EXPECT_THAT(text, HasSubstr("\n1 | gpu02 | lost | 6 | 1 | 1\n"));
}

TEST(ReportPage, OfARunOfNoLength) {
  RunRecord record = run::GoodRun(1, 1, milliseconds(0));
  record.joining = *(record.formed = Duration{});
  record.ended = Duration{};
  record.ranks[0].end->run = Duration{};
  EXPECT_THAT(Drawn(record, "no_length"), HasSubstr("\nrank 0 | gpu01 | ok | <1 ms | <1 ms | "));
}

}  // namespace
}  // namespace muster::report

#include "bootstrap/report/report.h"

namespace muster::report {
namespace {

// The text of page.html as a literal.
constexpr std::string_view kPage =
#include "bootstrap/report/page.inc"
    ;
constexpr std::string_view kMark = "@REPORT@";
constexpr size_t kPlace = kPage.find(kMark);
static_assert(kPlace != std::string_view::npos, "page.html has no place for the report");

}  // namespace

std::string ReportPage(const RunRecord& record, std::string_view version) {
  std::string page(kPage.substr(0, kPlace));
  for (const char c : ReportJson(record, version)) {
    // JSON has it only in strings. Without it no text can end the element, or begin another one.
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  return page.append(kPage.substr(kPlace + kMark.size()));
}

}  // namespace muster::report

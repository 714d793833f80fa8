// `run.report`: what became of one run, for machines (JSON) and as a page with a timeline (HTML). The shape
// of the JSON is described in docs/pages/reference/schemas; names in it do not change their meaning.
#pragma once

#include <string>

#include "bootstrap/report/run_record.h"
#include "comm/base/error.h"

namespace muster::report {

// Pure. `version`: muster's.
std::string ReportJson(const RunRecord& record, std::string_view version);

// page.html with ReportJson in it: a page that needs no other file. Pure.
std::string ReportPage(const RunRecord& record, std::string_view version);

// HTML where `path` ends in .html or .htm, else JSON. Whoever reads sees the old file or the whole new one; a
// link of the own user is followed, and what is no regular file (/dev/stderr, a named pipe) is written to.
// What other users may have prepared there is refused (comm/log/open_for_writing.h). Error: kSystem, names
// the path.
Status WriteReport(const std::string& path, const RunRecord& record, std::string_view version);

// Whether WriteReport can be expected to succeed: better said before a run of hours than after it.
Status CheckReportPath(const std::string& path);

}  // namespace muster::report

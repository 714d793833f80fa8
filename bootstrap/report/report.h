// `run.report`: the result of one run, for machines (JSON) and as a page with a timeline (HTML).
// docs/pages/reference/schemas describes the shape of the JSON; names in it do not change their meaning.
#pragma once

#include <string>

#include "bootstrap/report/run_record.h"
#include "comm/base/error.h"

namespace muster::report {

// Pure. `version`: muster's.
std::string ReportJson(const RunRecord& record, std::string_view version);

// page.html with ReportJson in it: a page that needs no other file. Pure.
std::string ReportPage(const RunRecord& record, std::string_view version);

// HTML if `path` ends in .html or .htm, else JSON. A reader finds the old file or the whole new one. A link
// of the own user is followed, and any other type of file (/dev/stderr, a named pipe) is written to. Files
// that other users may have prepared there are refused (comm/log/open_for_writing.h). Error: kSystem, names
// the path.
Status WriteReport(const std::string& path, const RunRecord& record, std::string_view version);

// Whether WriteReport can be expected to succeed: better known before a run of hours than after it.
Status CheckReportPath(const std::string& path);

}  // namespace muster::report

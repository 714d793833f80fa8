// How the findings are shown.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/doctor/finding.h"

namespace muster::doctor {

struct Report {
  std::string muster;  // version
  std::string node;
  std::vector<Finding> findings;
};

Health Worst(const std::vector<Finding>& findings);

// Lines for a person.
std::string ReportText(const Report& report);

// One line: {"muster", "node", "health": "ok"|"note"|"problem", "findings": [{"subject", "health", "found",
// "cost", "remedy", "facts": {NAME: TEXT}}]}. cost and remedy are null if there is none.
std::string ReportJson(const Report& report);

}  // namespace muster::doctor

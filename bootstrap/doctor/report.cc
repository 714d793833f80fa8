#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bootstrap/doctor/findings.h"

namespace muster::doctor {
namespace {

using Json = nlohmann::ordered_json;

std::string_view NameOf(Health health) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "note", "problem"};
  return kNames.at(static_cast<size_t>(health));
}

std::string_view Summary(Health health) {
  constexpr std::array<std::string_view, 3> kSummaries = {"muster works here",
                                                          "muster works here; see the notes",
                                                          "muster does not work here yet; see the problems"};
  return kSummaries.at(static_cast<size_t>(health));
}

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Health Worst(const std::vector<Finding>& findings) {
  Health worst = Health::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.health);
  return worst;
}

std::string ReportText(const Report& report) {
  std::string text =
      fmt::format("muster {} on {}: {}\n", report.muster, report.node, Summary(Worst(report.findings)));
  for (const Finding& finding : report.findings) {
    text += fmt::format("  {:<8} {:<9} {}\n", NameOf(finding.health), finding.subject, finding.found);
    if (!finding.cost.empty()) text += fmt::format("  {:<18} cost: {}\n", "", finding.cost);
    if (!finding.remedy.empty()) text += fmt::format("  {:<18} remedy: {}\n", "", finding.remedy);
  }
  return text;
}

std::string ReportJson(const Report& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    Json facts = Json::object();
    for (const auto& [name, value] : finding.facts) facts[name] = value;
    findings.push_back({{"subject", finding.subject},
                        {"health", NameOf(finding.health)},
                        {"found", finding.found},
                        {"cost", OrNull(finding.cost)},
                        {"remedy", OrNull(finding.remedy)},
                        {"facts", std::move(facts)}});
  }
  const Json json = {{"muster", report.muster},
                     {"node", report.node},
                     {"health", NameOf(Worst(report.findings))},
                     {"findings", std::move(findings)}};
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::doctor

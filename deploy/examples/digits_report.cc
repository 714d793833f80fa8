#include "deploy/examples/digits_report.h"

#include <fmt/core.h>

namespace muster::examples {
namespace {

std::string FormatRows(RowRange rows) {
  return rows.size() == 0 ? "no rows" : fmt::format("rows {}-{}", rows.begin, rows.end - 1);
}

}  // namespace

std::string FormatReport(const Roster& roster, const Evaluation& evaluation) {
  std::string text;
  for (size_t rank = 0; rank < evaluation.shares.size(); ++rank) {
    text += fmt::format("{}: {}\n", DescribeRank(roster, static_cast<int>(rank)),
                        FormatRows(evaluation.shares[rank]));
  }
  const double per_cent =
      100.0 * static_cast<double>(evaluation.correct) / static_cast<double>(evaluation.total);
  return text + fmt::format("accuracy: {}/{} = {:.2f} %\n", evaluation.correct, evaluation.total, per_cent);
}

std::string FormatPredictions(std::span<const uint8_t> predictions) {
  std::string text;
  text.reserve(2 * predictions.size());
  for (const uint8_t label : predictions) text += fmt::format("{}\n", label);
  return text;
}

}  // namespace muster::examples

#include "comm/nccl/start_report.h"

#include "comm/base/parse.h"
#include "comm/net/wire.h"

namespace muster {
namespace {

// NCCL's last words are a line; who sends more is not asked to be brief.
constexpr size_t kMostWords = 1024;

}  // namespace

Bytes EncodeStartReport(const StartReport& report) {
  WireWriter writer;
  writer.U8(report.through ? 1 : 0);
  writer.String(std::string_view(report.last_words).substr(0, kMostWords));
  return writer.Take();
}

Result<StartReport> DecodeStartReport(ByteView bytes) {
  WireReader reader(bytes);
  StartReport report;
  const uint8_t through = reader.U8();
  if (through > 1) reader.MarkBad();
  report.through = through == 1;
  report.last_words = reader.String();
  if (report.last_words.size() > kMostWords) reader.MarkBad();
  MUSTER_CHECK(reader.Finish("NCCL start"));
  return report;
}

Status JudgeStart(const Roster& roster, const std::vector<StartReport>& reports, Duration limit) {
  std::vector<int> missing;
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].through) missing.push_back(static_cast<int>(rank));
  }
  if (missing.empty()) return {};
  const StartReport& first = reports[static_cast<size_t>(missing.front())];
  const std::string words = first.last_words.empty() ? "" : "; its last words: " + first.last_words;
  const std::string rest =
      missing.size() == reports.size() ? "no rank was through" : "the other ranks were through";
  return WithHint(Fail(Code::kDeadline, "NCCL did not start within {} on {} of {} ranks: {} ({}{}); {}",
                       FormatDuration(limit), missing.size(), reports.size(), FormatRanges(missing),
                       DescribeRank(roster, missing.front()), words, rest),
                  "NCCL_DEBUG=INFO (nccl.debug: info) says what it waits for: often the network interface "
                  "(nccl.interface) or a firewall; timeouts.init says how long to wait");
}

}  // namespace muster

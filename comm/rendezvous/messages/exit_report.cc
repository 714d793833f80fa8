#include "comm/rendezvous/messages/exit_report.h"

#include "comm/rendezvous/messages/frames.h"

namespace muster::rendezvous {

void Fields(auto& wire, Is<RankEnd> auto& end) {
  wire(end.rank, UpTo(end.cause, EndCause::kNotStarted), UpTo(end.out_of_memory, OutOfMemory::kOwn),
       end.exit_code, end.signal, end.resolve, end.join, end.run);
}

void Fields(auto& wire, Is<ExitReport> auto& ends) { wire(ends.last, ends.ends); }
void Fields(auto& wire, Is<OrphanReport> auto& report) { wire(report.group_id, report.ends); }

Bytes Encode(const ExitReport& ends) { return EncodeFields(ControlType::kEnded, ends); }
Bytes Encode(const OrphanReport& report) { return EncodeFields(ControlType::kOrphanReport, report); }
Result<ExitReport> DecodeExitReport(ByteView frame) { return DecodeFrame<ExitReport>(frame, "ends"); }
Result<OrphanReport> DecodeOrphanReport(ByteView frame) {
  return DecodeFrame<OrphanReport>(frame, "orphan report");
}

}  // namespace muster::rendezvous

#include "comm/rendezvous/messages/exit_report.h"

#include "comm/rendezvous/messages/frames.h"

namespace muster::rendezvous {

void Fields(auto& wire, Is<RankEnd> auto& end) {
  wire(end.rank, UpTo(end.cause, EndCause::kNotStarted), UpTo(end.out_of_memory, OutOfMemory::kOwn),
       end.exit_code, end.signal, end.resolve, end.join, end.run);
}

void Fields(auto& wire, Is<ExitReport> auto& ends) { wire(ends.last, ends.ends); }
void Fields(auto& wire, Is<OrphanReport> auto& report) { wire(report.group_id, report.ends); }

MUSTER_MESSAGE(ExitReport, kEnded, "ends");
MUSTER_MESSAGE(OrphanReport, kOrphanReport, "orphan report");

}  // namespace muster::rendezvous

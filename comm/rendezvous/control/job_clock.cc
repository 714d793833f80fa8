#include "comm/rendezvous/control/job_clock.h"

#include "comm/log/log.h"

namespace muster::rendezvous {
namespace {

using std::chrono::minutes;

constexpr Duration kAskAfter = std::chrono::seconds(10);

}  // namespace

void JobClock::Ask(const JoinRequest& request) {
  SchedulerQuestion question;
  question.job_end = request.scheduler && request.scheduler->Unknown().job_end;
  if (!question.job_end) return;
  // The root has sent its query already, while the group formed.
  if (const Deadline latest = request.timeouts.latest; !latest.IsNever()) {
    timer_ = links_.loop().After(Duration::zero(), [this, latest] { Send(latest); });
    return;
  }
  inquiry_ = std::make_unique<SchedulerInquiry>(
      links_.loop(), request.scheduler, question, request.scheduler_patience + kAskAfter,
      [this](const SchedulerFacts& facts) {
        if (!facts.time_left) return;
        if (!facts.time_note.empty()) LogWarning("{}", facts.time_note);
        Send(Deadline::After(*facts.time_left));
      },
      std::vector<Duration>{minutes(1), minutes(5), minutes(15)});
}

void JobClock::ReceiveFromParent(ByteView frame) {
  if (const auto end = Decode<JobEnd>(frame)) Send(Deadline::After(FromMilliseconds(end->milliseconds)));
}

void JobClock::Send(Deadline latest) {
  links_.children().SendAll(Encode(JobEnd{MillisecondsLeft(latest)}));
  on_end_(latest);
}

}  // namespace muster::rendezvous

#include "comm/nccl/communicator/operations.h"

#include <algorithm>

#include "comm/socket/transport/call_history.h"

namespace muster::nccl {
namespace {

// The calls of this thread disturb no capture of a graph.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(CudaApi& cuda) : cuda_(cuda), changed_(Exchange()) {}
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    if (changed_) Exchange();
  }

 private:
  bool Exchange() { return cuda_.ExchangeCaptureMode(&mode_) == CudaResult::kSuccess; }

  CudaApi& cuda_;
  CudaCaptureMode mode_ = CudaCaptureMode::kRelaxed;
  const bool changed_;
};

uint64_t MillisecondsSince(Clock::time_point when) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - when).count());
}

}  // namespace

Operations::Ticket Operations::Begin(const Call& call, Deadline deadline, Duration timeout,
                                     std::optional<int> peer) {
  const Lock lock(mutex_);
  Entry& entry = entries_.emplace_back();
  entry.ticket = next_++;
  entry.call = call;
  entry.deadline = deadline;
  entry.timeout = timeout;
  entry.peer = peer;
  entry.began = Clock::now();
  return entry.ticket;
}

std::deque<Operations::Entry>::iterator Operations::Find(Ticket ticket) {
  const auto found = std::ranges::lower_bound(entries_, ticket, {}, &Entry::ticket);
  return found != entries_.end() && found->ticket == ticket ? found : entries_.end();
}

CudaResult Operations::Record(CudaStream stream, CudaEvent* event) {
  if (spare_.empty()) {
    const CudaResult created = cuda_->CreateEvent(event);
    if (created != CudaResult::kSuccess) return created;
    spare_.push_back(*event);
  }
  *event = spare_.back();
  const CudaResult recorded = cuda_->RecordEvent(*event, stream);
  if (recorded == CudaResult::kSuccess) spare_.pop_back();
  return recorded;
}

CudaResult Operations::Launched(const std::vector<Ticket>& tickets, CudaStream stream) {
  const Lock calls(cuda_calls_);
  {
    const Lock lock(mutex_);
    if (Find(tickets.back()) == entries_.end()) return CudaResult::kSuccess;
  }
  bool capturing = false;
  // An error is reported by the event.
  if (cuda_->IsCapturing(stream, &capturing) == CudaResult::kSuccess && capturing) {
    const Lock lock(mutex_);
    for (const Ticket ticket : tickets) Finish(Find(ticket));
    return CudaResult::kSuccess;
  }
  CudaEvent event = nullptr;
  const CudaResult result = Record(stream, &event);
  const Lock lock(mutex_);
  for (const Ticket ticket : tickets) {
    const auto entry = Find(ticket);
    if (result == CudaResult::kSuccess) {
      entry->event = event;
      entry->owns_event = ticket == tickets.back();
    } else {
      entries_.erase(entry);
    }
  }
  return result;
}

void Operations::Finish(const std::deque<Entry>::iterator& entry) {
  if (entry->owns_event) spare_.push_back(entry->event);
  if (!entry->peer) {
    last_ = *entry;
    ended_ = Clock::now();
  }
  entries_.erase(entry);
}

bool Operations::Many() const {
  constexpr size_t kMany = 64;
  const Lock lock(mutex_);
  return entries_.size() >= kMany;
}

CudaEvent Operations::FirstEvent() const {
  const Lock lock(mutex_);
  return entries_.empty() ? nullptr : entries_.front().event;
}

bool Operations::Empty() const {
  const Lock lock(mutex_);
  return entries_.empty();
}

bool Operations::Sweep(CudaResult* health) {
  const Lock calls(cuda_calls_);
  *health = CudaResult::kSuccess;
  if (Empty()) return true;
  const RelaxedCapture relaxed(*cuda_);
  CudaEvent passed = nullptr;
  // In the order in which NCCL completes them.
  while (const CudaEvent event = FirstEvent()) {
    const CudaResult state = event == passed ? CudaResult::kSuccess : cuda_->QueryEvent(event);
    // At the process's end CUDA may be gone before the operation is.
    if (state == CudaResult::kNotReady || state == CudaResult::kUnloading) break;
    if (state != CudaResult::kSuccess) {
      *health = state;
      break;
    }
    passed = event;
    const Lock lock(mutex_);
    Finish(entries_.begin());
  }
  return Empty();
}

std::optional<Operations::Overdue> Operations::FindOverdue(bool unlaunched) const {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [unlaunched](const Entry& entry) {
    return entry.deadline.Expired() && (!unlaunched || entry.event == nullptr);
  });
  if (found == entries_.end()) return std::nullopt;
  return Overdue{found->call, found->timeout};
}

Deadline Operations::Next() const {
  const Lock lock(mutex_);
  Deadline next = Deadline::Never();
  for (const Entry& entry : entries_) {
    if (!entry.deadline.Expired()) next = next.EarlierOf(entry.deadline);
  }
  return next;
}

Deadline Operations::Last() const {
  const Lock lock(mutex_);
  Deadline last = Deadline::At({});
  for (const Entry& entry : entries_) last = LaterOf(last, entry.deadline);
  return last;
}

size_t Operations::Shown() const {
  const auto launching = std::ranges::find(entries_, nullptr, &Entry::event);
  return launching == entries_.end() ? 0 : static_cast<size_t>(launching - entries_.begin());
}

bool Operations::HasNewLate(Duration after) {
  const Lock lock(mutex_);
  if (entries_.empty() || after <= Duration::zero()) return false;
  Entry& shown = entries_[Shown()];
  if (shown.late || Clock::now() - shown.began < after) return false;
  return shown.late = true;
}

void Operations::Close() {
  const Lock calls(cuda_calls_);
  {
    const Lock lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.owns_event) spare_.push_back(entry.event);
    }
    entries_.clear();
  }
  // Events that cannot be freed are gone with their context.
  for (CudaEvent event : spare_) [[maybe_unused]] const CudaResult freed = cuda_->DestroyEvent(event);
  spare_.clear();
}

OperationState Operations::Look() const {
  const Lock lock(mutex_);
  if (!entries_.empty()) {
    const Entry& shown = entries_[Shown()];
    OperationState state = socket::StateOf(shown.call);
    state.active = true;
    state.milliseconds = MillisecondsSince(shown.began);
    if (shown.peer) state.waiting_for = {*shown.peer};
    return state;
  }
  OperationState state =
      last_ ? socket::StateOf(last_->call) : OperationState{id_, true, false, "Start", 0, "", 0, {}};
  state.milliseconds = MillisecondsSince(ended_);
  return state;
}

}  // namespace muster::nccl

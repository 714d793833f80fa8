#include "tests/comm/nccl/computing_cuda.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

// The inside of CUDA.
struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool busy = false;
  bool stop = false;
  const int device;
  std::thread thread;

  explicit CUstream_st(int its_device) : device(its_device), thread([this] { Serve(); }) {}
  ~CUstream_st() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      changed.notify_all();
    }
    thread.join();
  }
  void Serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stop || !queue.empty(); });
      if (queue.empty()) return;
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      work();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
  void Add(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    changed.notify_all();
  }
  void Drain() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return queue.empty() && !busy; });
  }
};
struct CUevent_st {
  // Shared with the streams: an event may be destroyed before its stream gets there.
  struct Marks {
    std::atomic<uint64_t> recorded = 0;
    std::atomic<uint64_t> reached = 0;
  };
  std::shared_ptr<Marks> marks = std::make_shared<Marks>();
  int device = 0;
  std::atomic<bool> captured = false;
};

namespace muster::nccl {
namespace {

constexpr CudaResult kInvalidHandle{400};
constexpr CudaResult kCaptureUnsafe{900};
constexpr CudaResult kCapturedEvent{907};

std::atomic<uint64_t> made = 0;

}  // namespace

ComputingCuda::ComputingCuda() : number_(++made) {}

ComputingCuda::~ComputingCuda() {
  for (const auto& [ordinal, stream] : default_streams_) delete stream;
  for (const auto& [memory, block] : memory_) std::free(const_cast<uint8_t*>(memory));
}

int& ComputingCuda::current() const {
  thread_local std::map<uint64_t, int> current_of;
  return current_of[number_];
}

CudaStream ComputingCuda::StreamOf(CudaStream stream) {
  if (stream != nullptr) return stream;
  const std::lock_guard lock(mutex_);
  CudaStream& its = default_streams_[current()];
  if (its == nullptr) its = new CUstream_st(current());
  return its;
}

void ComputingCuda::Enqueue(CudaStream stream, std::function<void()> work) {
  StreamOf(stream)->Add(std::move(work));
}

size_t ComputingCuda::allocations() const {
  const std::lock_guard lock(mutex_);
  return memory_.size();
}

CudaResult ComputingCuda::DriverVersion(int* version) {
  *version = driver;
  return driver_answer;
}

CudaResult ComputingCuda::DeviceCount(int* there) {
  *there = count;
  return count_answer;
}

CudaResult ComputingCuda::Describe(int ordinal, CudaDevice* its) {
  *its = device;
  its->uuid.back() = static_cast<uint8_t>(ordinal);
  return device_answer;
}

CudaResult ComputingCuda::SetDevice(int ordinal) {
  if (ordinal >= count) return CudaResult::kNoDevice;
  current() = ordinal;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::CurrentDevice(int* ordinal) {
  *ordinal = current();
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Locate(const void* pointer, CudaMemory* memory) {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const uint8_t*>(pointer);
  auto after = memory_.upper_bound(byte);
  memory->on_device = after != memory_.begin() && (--after, byte < after->first + after->second.bytes);
  if (memory->on_device) memory->device = after->second.device;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::CreateEvent(CudaEvent* event) {
  *event = new CUevent_st;
  (*event)->device = current();
  ++events_;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::DestroyEvent(CudaEvent event) {
  AwaitOpen();
  delete event;
  --events_;
  return CudaResult::kSuccess;
}

CudaCaptureMode& ComputingCuda::capture_mode() const {
  thread_local std::map<uint64_t, CudaCaptureMode> mode_of;
  return mode_of[number_];
}

CudaResult ComputingCuda::ExchangeCaptureMode(CudaCaptureMode* mode) {
  std::swap(*mode, capture_mode());
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::IsCapturing(CudaStream stream, bool* capturing) {
  *capturing = stream != nullptr && stream == capturing_;
  return CudaResult::kSuccess;
}

void ComputingCuda::BeginCapture(CudaStream stream) {
  capture_broken_ = false;
  capturing_ = stream;
}

bool ComputingCuda::EndCapture(CudaStream) {
  capturing_ = nullptr;
  return !capture_broken_;
}

CudaResult ComputingCuda::RecordEvent(CudaEvent event, CudaStream stream) {
  event->captured = stream != nullptr && stream == capturing_;
  if (event->device != StreamOf(stream)->device) return kInvalidHandle;
  const uint64_t mark = ++event->marks->recorded;
  Enqueue(stream, [marks = event->marks, mark] { marks->reached = mark; });
  return CudaResult::kSuccess;
}

void ComputingCuda::BlockEvents(std::shared_future<void> open) {
  const std::lock_guard lock(mutex_);
  events_open_ = std::move(open);
}

void ComputingCuda::AwaitOpen() const {
  std::unique_lock lock(mutex_);
  const std::shared_future<void> open = events_open_;
  lock.unlock();
  if (open.valid()) open.wait();
}

CudaResult ComputingCuda::QueryEvent(CudaEvent event) {
  AwaitOpen();
  if (const int broken = broken_; broken != 0) return CudaResult{broken};
  if (event->captured) return kCapturedEvent;
  if (capturing_ != nullptr && capture_mode() == CudaCaptureMode::kGlobal) {
    capture_broken_ = true;
    return kCaptureUnsafe;
  }
  return event->marks->reached == event->marks->recorded ? CudaResult::kSuccess : CudaResult::kNotReady;
}

CudaResult ComputingCuda::CreateStream(CudaStream* stream) {
  *stream = new CUstream_st(current());
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::DestroyStream(CudaStream stream) {
  delete stream;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Synchronize(CudaStream stream) {
  StreamOf(stream)->Drain();
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Copy(void* to, const void* from, size_t bytes, CudaStream stream) {
  Enqueue(stream, [=] {
    if (bytes > 0) std::memmove(to, from, bytes);
  });
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::AllocateOn(void** memory, size_t bytes, CudaStream) {
  return Allocate(memory, bytes);
}

CudaResult ComputingCuda::FreeOn(void* memory, CudaStream stream) {
  Enqueue(stream, [this, memory] { [[maybe_unused]] const CudaResult freed = Free(memory); });
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Allocate(void** memory, size_t bytes) {
  *memory = std::malloc(bytes == 0 ? 1 : bytes);
  const std::lock_guard lock(mutex_);
  memory_[static_cast<const uint8_t*>(*memory)] = {bytes == 0 ? 1 : bytes, current()};
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Free(void* memory) {
  const std::lock_guard lock(mutex_);
  if (memory_.erase(static_cast<const uint8_t*>(memory)) == 0) return CudaResult{1};
  std::free(memory);
  return CudaResult::kSuccess;
}

std::string ComputingCuda::Explain(CudaResult result) const {
  if (result == CudaResult::kSuccess) return "no error";
  if (result == CudaResult{802}) return "system not yet initialized";
  return result == CudaResult{700} ? "an illegal memory access was encountered" : "some error of CUDA";
}

}  // namespace muster::nccl

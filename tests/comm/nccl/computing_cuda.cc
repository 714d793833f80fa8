#include "tests/comm/nccl/computing_cuda.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

// What CUDA keeps to itself.
struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool busy = false;
  bool stop = false;
  std::thread thread;

  CUstream_st() : thread([this] { Serve(); }) {}
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
};

namespace muster {

ComputingCuda::ComputingCuda() : default_stream_(new CUstream_st) {}

ComputingCuda::~ComputingCuda() {
  delete default_stream_;
  for (const auto& [memory, bytes] : memory_) std::free(const_cast<uint8_t*>(memory));
}

void ComputingCuda::Enqueue(CudaStream stream, std::function<void()> work) {
  (stream == nullptr ? default_stream_ : stream)->Add(std::move(work));
}

size_t ComputingCuda::allocations() const {
  const std::lock_guard lock(mutex_);
  return memory_.size();
}

CudaResult ComputingCuda::DriverVersion(int* version) {
  *version = driver;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::DeviceCount(int* there) {
  *there = count;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Describe(int, CudaDevice* its) {
  *its = device;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::SetDevice(int ordinal) {
  return ordinal < count ? CudaResult::kSuccess : CudaResult::kNoDevice;
}

CudaResult ComputingCuda::IsDevicePointer(const void* pointer, bool* is_device) {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const uint8_t*>(pointer);
  auto after = memory_.upper_bound(byte);
  *is_device = after != memory_.begin() && (--after, byte < after->first + after->second);
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::CreateEvent(CudaEvent* event) {
  *event = new CUevent_st;
  ++events_;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::DestroyEvent(CudaEvent event) {
  delete event;
  --events_;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::RecordEvent(CudaEvent event, CudaStream stream) {
  const uint64_t mark = ++event->marks->recorded;
  Enqueue(stream, [marks = event->marks, mark] { marks->reached = mark; });
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::QueryEvent(CudaEvent event) {
  if (const int broken = broken_; broken != 0) return CudaResult{broken};
  return event->marks->reached == event->marks->recorded ? CudaResult::kSuccess : CudaResult::kNotReady;
}

CudaResult ComputingCuda::CreateStream(CudaStream* stream) {
  *stream = new CUstream_st;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::DestroyStream(CudaStream stream) {
  delete stream;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Synchronize(CudaStream stream) {
  (stream == nullptr ? default_stream_ : stream)->Drain();
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
  memory_[static_cast<const uint8_t*>(*memory)] = bytes == 0 ? 1 : bytes;
  return CudaResult::kSuccess;
}

CudaResult ComputingCuda::Free(void* memory) {
  const std::lock_guard lock(mutex_);
  if (memory_.erase(static_cast<const uint8_t*>(memory)) == 0) return CudaResult{1};
  std::free(memory);
  return CudaResult::kSuccess;
}

std::string ComputingCuda::Explain(CudaResult result) const {
  return result == CudaResult{700} ? "an illegal memory access was encountered" : "some error of CUDA";
}

}  // namespace muster

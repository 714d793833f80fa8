#include "tests/simulation/machine/process.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tests/simulation/machine/file.h"
#include "tests/simulation/machine/file_tree.h"
#include "tests/simulation/machine/network.h"
#include "tests/simulation/machine/world.h"

namespace muster::simulation {
namespace {

constexpr int kFirstDescriptor = 3;
constexpr uint32_t kNetwork = 10U << 24;  // 10.0.0.0/8

}  // namespace

Node::Node(World& w, int n, std::string node_name)
    : world(w),
      number(n),
      name(std::move(node_name)),
      address(kNetwork + 1 + static_cast<uint32_t>(n)),
      root(MakeRoot()) {}

Process::Process(World& w, Node& on, uid_t user, std::string process_name)
    : world(w), node(on), pid(on.next_pid++), uid(user), name(std::move(process_name)) {}

Process::~Process() = default;

bool Process::HasFreeDescriptor() const {
  const auto limit = std::min<uint64_t>(descriptors.rlim_cur, most_descriptors);
  const auto free = std::ranges::find(files_, nullptr) - files_.begin();
  return static_cast<size_t>(free) + kFirstDescriptor < limit;
}

int Process::Install(File* file) {
  const auto free = std::ranges::find(files_, nullptr);
  const auto at = static_cast<size_t>(free - files_.begin());
  if (!HasFreeDescriptor()) {
    file->CloseNow();
    errno = EMFILE;
    return -1;
  }
  if (free == files_.end()) files_.push_back(nullptr);
  files_[at] = file;
  return static_cast<int>(at) + kFirstDescriptor;
}

File* Process::Find(int fd) const {
  const auto at = static_cast<size_t>(fd - kFirstDescriptor);
  if (fd < kFirstDescriptor || at >= files_.size() || files_[at] == nullptr) {
    errno = EBADF;
    return nullptr;
  }
  return files_[at];
}

int Process::Close(int fd) {
  File* const file = Find(fd);
  if (file == nullptr) return -1;
  files_[static_cast<size_t>(fd - kFirstDescriptor)] = nullptr;
  file->CloseNow();
  return 0;
}

int Process::OpenDescriptors() const {
  return static_cast<int>(files_.size() - static_cast<size_t>(std::ranges::count(files_, nullptr)));
}

int Process::OpenConnections() const {
  return static_cast<int>(std::ranges::count_if(files_, [](const File* file) {
    const auto* const socket = dynamic_cast<const Socket*>(file);
    return socket != nullptr &&
           (socket->role == Socket::Role::kConnecting || socket->role == Socket::Role::kConnected);
  }));
}

Fiber& Process::Start(std::function<void()> body) {
  const bool first = fibers_.empty();
  fibers_.push_back(std::make_unique<Fiber>(*this, std::move(body), [this, first] {
    const KernelMemory kernel;
    world.EndFiber(first);
  }));
  Fiber& fiber = *fibers_.back();
  fiber.waiting = true;
  world.Wake(fiber);
  return fiber;
}

void Process::Stop() {
  if (state == State::kRunning) state = State::kStopped;
}

void Process::Continue() {
  if (state != State::kStopped) return;
  state = State::kRunning;
  for (Fiber* fiber : std::exchange(held_, {})) {
    fiber->scheduled = false;
    world.Wake(*fiber);
  }
}

void Process::End(bool by_signal) {
  if (state == State::kEnded) return;
  state = State::kEnded;
  killed = by_signal;
  ended = world.now();
  for (File*& file : files_) {
    if (file != nullptr) std::exchange(file, nullptr)->CloseNow();
  }
  for (File* watch : std::exchange(end_watches, {})) watch->Changed();
  on_end();
}

}  // namespace muster::simulation

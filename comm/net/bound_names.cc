#include "comm/net/bound_names.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace muster::net {
namespace {

struct BoundName {
  std::string path;
  std::string directory;
  bool removed = false;  // by exit()
};

// Of one process. Never destroyed: threads may use it until the process ends. A forked child makes its own,
// because its copy of the mutex may stay locked forever.
struct BoundNames {
  pid_t process = getpid();
  std::mutex mutex;
  std::vector<BoundName> names;
  BoundNames* of_parent = nullptr;  // still reachable to checkers for leaks
};

std::atomic<BoundNames*>& TheNames() {
  static std::atomic<BoundNames*> names = nullptr;
  return names;
}

// If the mutex is locked, by another thread, or by this one before a signal handler calls exit(): the names
// stay.
void RemoveAtExit() {
  BoundNames* names = TheNames().load();
  if (names == nullptr || names->process != getpid()) return;
  const std::unique_lock lock(names->mutex, std::try_to_lock);
  if (!lock) return;
  for (BoundName& name : names->names) {
    if (!std::exchange(name.removed, true)) unlink(name.path.c_str());
  }
  for (const BoundName& name : names->names) rmdir(name.directory.c_str());
}

BoundNames& NamesOfThisProcess() {
  [[maybe_unused]] static const int registered = std::atexit(RemoveAtExit);
  BoundNames* current = TheNames().load();
  while (current == nullptr || current->process != getpid()) {
    auto fresh = std::make_unique<BoundNames>();
    fresh->of_parent = current;
    if (TheNames().compare_exchange_strong(current, fresh.get())) return *fresh.release();
  }
  return *current;
}

}  // namespace

void RememberBoundName(std::string path, std::string directory) {
  BoundNames& names = NamesOfThisProcess();
  const std::lock_guard lock(names.mutex);
  names.names.push_back({std::move(path), std::move(directory), false});
}

bool ForgetBoundName(const std::string& path) {
  BoundNames& names = NamesOfThisProcess();
  const std::lock_guard lock(names.mutex);
  const auto found = std::ranges::find_if(
      names.names, [&](const BoundName& name) { return name.path == path && !name.removed; });
  if (found == names.names.end()) return false;
  names.names.erase(found);
  return true;
}

bool IsBoundName(const std::string& path) {
  BoundNames& names = NamesOfThisProcess();
  const std::lock_guard lock(names.mutex);
  return std::ranges::count(names.names, path, &BoundName::path) > 0;
}

bool HasBoundNameIn(const std::string& directory) {
  BoundNames& names = NamesOfThisProcess();
  const std::lock_guard lock(names.mutex);
  return std::ranges::count(names.names, directory, &BoundName::directory) > 0;
}

}  // namespace muster::net

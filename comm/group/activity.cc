#include "comm/group/activity.h"

#include <fmt/core.h>

#include <algorithm>

namespace muster {
namespace {

constexpr size_t kMostOperations = 16;

}  // namespace

std::string ShortName(const OperationState& operation) {
  return fmt::format("{} #{}", operation.operation, operation.sequence);
}

std::string Describe(const OperationState& operation) {
  const std::string name = ShortName(operation);
  return operation.elements.empty() ? name : name + " " + operation.elements;
}

void ActivityTable::Add(std::shared_ptr<const ActivitySource> source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

void ActivityTable::Remove(const ActivitySource* source) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [source](const auto& other) { return other.get() == source; });
}

std::vector<OperationState> ActivityTable::Look() const {
  std::vector<OperationState> operations;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& source : sources_) operations.push_back(source->Look());
  }
  std::erase_if(operations, [](const OperationState& operation) { return operation.operation.empty(); });
  std::ranges::stable_sort(operations, [](const OperationState& a, const OperationState& b) {
    if (a.active != b.active) return a.active;
    return !a.active && a.milliseconds < b.milliseconds;
  });
  if (operations.size() > kMostOperations) operations.resize(kMostOperations);
  return operations;
}

void ActivityTable::SetOnLate(std::function<void()> on_late) {
  const std::lock_guard lock(mutex_);
  on_late_ = std::move(on_late);
}

// Under the lock: after SetOnLate has returned, the earlier function is not called.
void ActivityTable::ReportLate() const {
  const std::lock_guard lock(mutex_);
  if (on_late_) on_late_();
}

}  // namespace muster

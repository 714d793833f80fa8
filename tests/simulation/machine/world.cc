#include "tests/simulation/machine/world.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "tests/simulation/machine/file.h"
#include "tests/simulation/machine/file_tree.h"

extern "C" int __real_clock_gettime(clockid_t, timespec*);

namespace muster::simulation {
namespace {

World*& TheWorld() {
  static World* world = nullptr;
  return world;
}

// Of the simulation's one thread.
Duration ProcessorTime() {
  timespec time{};
  __real_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

// Of which one lies in each measured span.
Duration TimeToRead() {
  constexpr int kRounds = 1000;
  const Duration begin = ProcessorTime();
  for (int i = 1; i < kRounds; ++i) ProcessorTime();
  return (ProcessorTime() - begin) / kRounds;
}

}  // namespace

World::World(uint64_t seed, Machines machines)
    : network(*this), product_random(seed ^ 0x70726f64), random(seed ^ 0x776f726c), machines_(machines) {
  shared = MakeSharedDirectory();
  TheWorld() = this;
}

World::~World() { TheWorld() = nullptr; }

World* World::Running() { return TheWorld(); }

Process* World::Caller() {
  World* const world = TheWorld();
  return world == nullptr || world->running_ == nullptr ? nullptr : &world->running_->process();
}

Node& World::AddNode(const std::string& name) {
  nodes_.push_back(std::make_unique<Node>(*this, static_cast<int>(nodes_.size()), name));
  nodes_.back()->clock_ahead = random.Between(std::chrono::seconds(1000), std::chrono::hours(10000));
  nodes_.back()->root->entries["shared"] = shared;
  node_of_name_[name] = nodes_.back().get();
  return *nodes_.back();
}

Node* World::FindNode(const std::string& name) {
  const auto found = node_of_name_.find(name);
  return found == node_of_name_.end() ? nullptr : found->second;
}

Process& World::AddProcess(Node& node, uid_t uid, std::string name) {
  processes_.push_back(std::make_unique<Process>(*this, node, uid, std::move(name)));
  return *processes_.back();
}

void World::At(Time when, std::function<void()> what) {
  size_t action = actions_.size();
  if (free_actions_.empty()) {
    actions_.push_back(std::move(what));
  } else {
    action = free_actions_.back();
    free_actions_.pop_back();
    actions_[action] = std::move(what);
  }
  events_.push_back({std::max(when, now()), next_event_++, action});
  std::ranges::push_heap(events_, [](const Event& a, const Event& b) { return Later(a, b); });
}

bool World::Run(Time until, uint64_t most_events, const std::function<bool()>& done) {
  while (!events_.empty() && !done()) {
    if (events_.front().at > until) {
      now_ = until;
      return true;
    }
    if (count_ >= most_events) return false;
    std::ranges::pop_heap(events_, [](const Event& a, const Event& b) { return Later(a, b); });
    const Event event = events_.back();
    events_.pop_back();
    now_ = event.at;
    ++count_;
    const std::function<void()> what = std::move(actions_[event.action]);
    free_actions_.push_back(event.action);
    what();
  }
  return true;
}

void World::PowerOff(Node& node) {
  node.up = false;
  for (const auto& process : processes_) {
    if (&process->node == &node) process->End(true);
  }
  LoseMemory(node);
}

void World::PowerOn(Node& node) {
  node.up = true;
  ++node.starts;
  node.root = MakeRoot();
  node.root->entries["shared"] = shared;
  node.clock_ahead = random.Between(std::chrono::seconds(1000), std::chrono::hours(10000));
  node.next_pid = 100;
}

void World::LoseMemory(Node& node) {
  for (const auto& inode : std::exchange(node.unsynced, {})) {
    inode->content.resize(inode->synced + random.Below(inode->content.size() - inode->synced + 1));
    inode->synced = Inode::kAllSynced;
  }
}

Duration World::Turn() { return std::chrono::microseconds(1) + random.About(machines_.turn); }

void World::Wake(Fiber& fiber) {
  if (!fiber.waiting || fiber.scheduled) return;
  fiber.scheduled = true;
  Duration delay = Turn();
  const Duration slowness = fiber.process().slowness;
  if (slowness > Duration::zero()) delay += random.About(slowness);
  After(delay, [this, &fiber] { Resume(fiber); });
}

void World::Resume(Fiber& fiber) {
  Process& process = fiber.process();
  if (process.state == Process::State::kEnded || fiber.ended) return;
  if (process.state == Process::State::kStopped) return process.Hold(fiber);
  if (process.busy_until > now_) return At(process.busy_until, [this, &fiber] { Resume(fiber); });
  fiber.waiting = false;
  fiber.scheduled = false;
  running_ = &fiber;
  ResumeMeter();
  fiber.SwitchTo();
  running_ = nullptr;
  process.busy_until = now();
  in_turn_ = {};
  if (fiber.ended) fiber.GiveUpStack();
}

void World::PauseMeter(Duration and_takes) {
  if (!machines_.metered) return;
  static const Duration reading = TimeToRead();
  const Duration computed = std::max(ProcessorTime() - resumed_ - reading, Duration::zero());
  running_->process().computed += computed;
  in_turn_ += computed + and_takes;
}

void World::ResumeMeter() {
  if (machines_.metered) resumed_ = ProcessorTime();
}

bool World::Block(Time deadline) {
  Fiber& fiber = *running_;
  fiber.waiting = true;
  fiber.timed_out = false;
  const uint64_t wait = ++fiber.wait;
  if (deadline != kNever) {
    // More than two words would be allocated.
    At(deadline, [&fiber, wait] {
      if (!fiber.waiting || fiber.scheduled || fiber.wait != wait) return;
      fiber.timed_out = true;
      fiber.process().world.Wake(fiber);
    });
  }
  fiber.SwitchBack();
  return !fiber.timed_out;
}

void World::EndFiber(bool with_its_process) {
  Fiber& fiber = *running_;
  fiber.ended = true;
  if (fiber.joiner != nullptr) Wake(*fiber.joiner);
  if (with_its_process) fiber.process().End(false);
  fiber.SwitchBack();
  std::abort();
}

}  // namespace muster::simulation

#include "comm/map/member.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/log/log.h"
#include "comm/map/messages.h"
#include "comm/map/service.h"
#include "comm/net/event_loop.h"
#include "comm/system/start_thread.h"

namespace muster::map {
namespace {

constexpr size_t kMostOnTheWay = 1 << 20;
// A leader may have both for each of its ranks on the way: for 12 that is less than FrameStream::kMostQueued.
constexpr size_t kLargestResult = 4 << 20;
constexpr size_t kClassesAtOnce = 1 << 20;
// The result of an item that has taken all its time is on its way within this.
constexpr Duration kLateByAtMost = std::chrono::seconds(1);

// State shared by the caller's threads and the group's thread, which calls Receive and Fail, perhaps after the
// end of the member.
struct Shared {
  Shared(RootLink& its_link, uint32_t its_map, std::function<void()> children)
      : link(its_link), map(its_map), end_children(std::move(children)) {}

  RootLink& link;
  const uint32_t map;
  const std::function<void()> end_children;
  Duration limit{};  // of an item
  std::mutex mutex;
  std::condition_variable changed;
  bool opened = false;
  std::optional<Error> error;
  std::optional<Outcome> outcome;
  std::deque<GrantedItem> queue;               // granted, not begun
  std::map<uint64_t, Clock::time_point> held;  // given to the caller, since when; not ended
  bool wants = false;                          // the root has been informed
  bool stopped = false;
  size_t waiting = 0;             // threads in Next: each takes an item of the queue
  std::deque<size_t> on_the_way;  // sizes of commits that are not durable
  size_t bytes_on_the_way = 0;
  uint64_t durable = 0;
  std::optional<Records> records;

  void Receive(ByteView message) {
    const auto heading = HeadingOf(message);
    if (!heading || heading->map != map) return;
    const std::lock_guard lock(mutex);
    Take(heading->type, message);
    changed.notify_all();
  }

  void Fail(const Error& with) {
    const std::lock_guard lock(mutex);
    if (!error) error = with;
    changed.notify_all();
  }

  // Gives back the items that were granted and not begun, except the first `kept`.
  void ReturnQueue(size_t kept) {
    GivenBack returned;
    for (; queue.size() > kept; queue.pop_back()) returned.items.push_back(queue.back().index);
    std::ranges::reverse(returned.items);
    link.SendToRoot(Encode(map, returned));
  }

 private:
  void Take(MessageType type, ByteView message) {
    switch (type) {
      case MessageType::kOpened:
        opened = true;
        return;
      case MessageType::kRefused:
        if (auto refused = Decode<Refused>(message); refused && !error) error = std::move(refused->error);
        return;
      case MessageType::kGrant:
        if (const auto granted = Decode<Granted>(message)) TakeGrant(*granted);
        return;
      case MessageType::kRecall:
        // A thread that was woken for an item may come later than this message.
        return ReturnQueue(waiting);
      case MessageType::kDurable:
        if (const auto answer = Decode<Durable>(message)) TakeDurable(answer->count);
        return;
      case MessageType::kExpired:
        if (const auto expired = Decode<Expired>(message); expired && IsOverdue(expired->item))
          End(expired->item);
        return ReturnQueue(waiting);
      case MessageType::kOver:
        if (auto over = Decode<Over>(message)) outcome = std::move(over->outcome);
        return;
      case MessageType::kRecords:
        if (auto answer = Decode<Records>(message)) records = *std::move(answer);
        return;
      default:
        return;
    }
  }

  void TakeGrant(const Granted& granted) {
    wants = false;
    for (const GrantedItem& item : granted.items) {
      // The root took this rank for ended; it still has the item.
      const bool has = held.contains(item.index) ||
                       std::ranges::find(queue, item.index, &GrantedItem::index) != queue.end();
      if (!has) queue.push_back(item);
    }
    // No rank takes them from now on.
    if (stopped) ReturnQueue(0);
  }

  // The root counts from the end of the item before: this rank may have done other work since, or waited for the disk.
  // The root repeats the message each second.
  bool IsOverdue(uint64_t item) const {
    const auto since = held.find(item);
    return since != held.end() && Clock::now() - since->second >= limit + kLateByAtMost;
  }

  void TakeDurable(uint64_t count) {
    for (; durable < count && !on_the_way.empty(); ++durable) {
      bytes_on_the_way -= on_the_way.front();
      on_the_way.pop_front();
    }
  }

  // No thread can be made to leave the caller's code.
  [[noreturn]] void End(uint64_t item) const {
    LogError("this process ends: item {} of the map is out of time, and goes to another rank", item);
    if (end_children) end_children();
    FlushLog(Deadline::After(kLastLinesWithin));
    _exit(ExitStatus(Code::kDeadline));
  }
};

class GroupMember : public Member {
 public:
  GroupMember(RootLink& link, std::unique_ptr<RootLink> own_link, uint32_t map,
              std::function<void()> end_children)
      : own_link_(std::move(own_link)),
        link_(link),
        map_(map),
        shared_(std::make_shared<Shared>(link, map, std::move(end_children))) {
    link_.SetListener(map_, {[shared = shared_](ByteView message) { shared->Receive(message); },
                             [shared = shared_](const Error& error) { shared->Fail(error); }});
  }

  ~GroupMember() override {
    if (getpid() != owner_) {
      Abandon();
      return;
    }
    link_.SendToRoot(EncodeBare(MessageType::kLeave, map_));
    link_.SetListener(map_, {});
  }

  Status Join(const Identity& identity, const Options& options, bool sends_classes, Deadline deadline) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->limit = options.timeout;
    }
    link_.SendToRoot(Encode(map_, muster::map::Join{identity, options}));
    if (sends_classes) SendClasses(options.classes);
    std::unique_lock lock(shared_->mutex);
    const auto answered = [&] { return shared_->opened || shared_->error; };
    if (!deadline.IsNever() && !shared_->changed.wait_until(lock, deadline.when(), answered)) {
      return muster::Fail(Code::kDeadline, "the group's root did not open the journal \"{}\" in time",
                          options.journal);
    }
    shared_->changed.wait(lock, answered);
    return ErrorSoFar();
  }

  Result<std::optional<Item>> Next() override {
    std::unique_lock lock(shared_->mutex);
    while (true) {
      // Over before the group failed: another rank has ended with its status already.
      if (shared_->outcome) return std::nullopt;
      MUSTER_CHECK(ErrorSoFar());
      if (shared_->stopped) return std::nullopt;
      if (!shared_->queue.empty()) break;
      Want();
      ++shared_->waiting;
      shared_->changed.wait(lock);
      --shared_->waiting;
    }
    const GrantedItem item = shared_->queue.front();
    shared_->queue.pop_front();
    shared_->held.insert_or_assign(item.index, Clock::now());
    // The next batch comes while this item is worked on.
    if (shared_->queue.empty()) Want();
    const bool unsent = std::exchange(unsent_, false);
    lock.unlock();
    // If this item kills the process, the root must have the ends of the earlier ones.
    if (unsent) link_.AwaitSent();
    return Item{item.index, item.attempt};
  }

  Status Commit(uint64_t item, std::string key, Format format, Bytes payload, Duration took) override {
    std::unique_lock lock(shared_->mutex);
    MUSTER_CHECK(ErrorSoFar());
    if (payload.size() > kLargestResult) {
      return WithHint(muster::Fail(Code::kUsage, "the result of item {} has {} bytes: more than {} MiB", item,
                                   payload.size(), kLargestResult >> 20),
                      "write it to a file, and commit its path");
    }
    MUSTER_CHECK(Release(item));
    muster::map::Commit commit{
        {Ending::kCommitted, item, std::move(key), -1, "", 1, took, format, std::move(payload)}};
    Bytes message = Encode(map_, commit);
    unsent_ = true;
    shared_->on_the_way.push_back(message.size());
    shared_->bytes_on_the_way += message.size();
    link_.SendToRoot(std::move(message));
    shared_->changed.wait(lock, [&] {
      return shared_->bytes_on_the_way <= kMostOnTheWay || shared_->error || shared_->outcome;
    });
    return ErrorSoFar();
  }

  void Fail(uint64_t item, std::string key, std::string error, Duration took) override {
    const std::lock_guard lock(shared_->mutex);
    if (!Release(item)) return;
    if (error.size() > kLongestError) error.erase(0, error.size() - kLongestError);
    link_.SendToRoot(Encode(map_, Failed{item, std::move(key), std::move(error), took}));
  }

  void GiveBack(uint64_t item) override {
    const std::lock_guard lock(shared_->mutex);
    if (Release(item)) link_.SendToRoot(Encode(map_, GivenBack{{item}}));
  }

  void Stop() override {
    const std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->stopped, true)) return;
    shared_->ReturnQueue(0);
    link_.SendToRoot(EncodeBare(MessageType::kStop, map_));
    shared_->changed.notify_all();
  }

  void Close() override { shared_->Fail({Code::kUsage, "this process has ended the map"}); }

  Result<Outcome> Finish() override {
    Stop();
    std::unique_lock lock(shared_->mutex);
    // A caller that left its loop early.
    GivenBack unfinished;
    for (const auto& [item, since] : std::exchange(shared_->held, {})) unfinished.items.push_back(item);
    if (!unfinished.items.empty()) link_.SendToRoot(Encode(map_, unfinished));
    shared_->changed.wait(lock, [&] { return shared_->outcome || shared_->error; });
    if (!shared_->outcome) MUSTER_CHECK(ErrorSoFar());
    return *shared_->outcome;
  }

  Result<std::vector<JournalRecord>> Read(uint64_t first, uint64_t count) override {
    std::vector<JournalRecord> all;
    std::unique_lock lock(shared_->mutex);
    const uint64_t end = first + std::min(count, std::numeric_limits<uint64_t>::max() - first);
    for (uint64_t next = first; next < end;) {
      shared_->records.reset();
      link_.SendToRoot(Encode(map_, ReadRecords{next, end - next}));
      shared_->changed.wait(lock, [&] { return shared_->records || shared_->error; });
      MUSTER_CHECK(ErrorSoFar());
      std::ranges::move(shared_->records->records, std::back_inserter(all));
      if (shared_->records->next <= next) break;
      next = shared_->records->next;
    }
    return all;
  }

 private:
  void SendClasses(ByteView classes) {
    for (size_t first = 0; first < classes.size(); first += kClassesAtOnce) {
      const ByteView part = classes.subspan(first, std::min(kClassesAtOnce, classes.size() - first));
      link_.SendToRoot(Encode(map_, Classes{first, Bytes(part.begin(), part.end())}));
      link_.AwaitSent();
    }
  }
  // In a forked child: it has no thread of the map, and a destructor would wait for the parent's threads.
  void Abandon() {
    [[maybe_unused]] const auto* link = own_link_.release();
    [[maybe_unused]] const auto* shared = new std::shared_ptr<Shared>(shared_);
  }
  Status ErrorSoFar() const {
    if (shared_->error) return tl::unexpected<Error>(*shared_->error);
    return {};
  }
  void Want() {
    if (!std::exchange(shared_->wants, true)) link_.SendToRoot(EncodeBare(MessageType::kWant, map_));
  }
  Status Release(uint64_t item) {
    if (shared_->held.erase(item) > 0) return {};
    return muster::Fail(Code::kUsage, "item {} is not one that this rank has in hand", item);
  }

  const pid_t owner_ = getpid();
  std::unique_ptr<RootLink> own_link_;  // in a world of one
  RootLink& link_;
  const uint32_t map_;
  const std::shared_ptr<Shared> shared_;
  bool unsent_ = false;  // results that may still be in this process
};

// The root of a map in a group of one, which has no control plane: a separate thread, while the map runs.
class LocalLink : public RootLink {
 public:
  LocalLink(std::unique_ptr<net::EventLoop> loop, const Roster& roster)
      : loop_(std::move(loop)), roster_(roster) {}

  ~LocalLink() override {
    loop_->Post([this] { stop_ = true; });
    if (thread_.joinable()) thread_.join();
  }

  Status Serve() {
    service_ =
        std::make_unique<Service>(Service::Params{*loop_,
                                                  roster_,
                                                  {roster_.NodeName(0), getpid(), "", roster_.group_id},
                                                  Duration::max(),
                                                  [this](int, ByteView message) { Deliver(message); }});
    MUSTER_TRY(thread_, StartThread("the thread of the map", [this] {
                 loop_->RunUntil([this] { return stop_; }, Deadline::Never());
                 service_.reset();
               }));
    return {};
  }

  void SendToRoot(Bytes message) override {
    loop_->Post([this, message = std::move(message)] { service_->Receive(0, message); });
  }
  // The root ends with this process.
  void AwaitSent() override {}
  void SetListener(uint32_t map, Listener listener) override {
    loop_->Post([this, map, listener = std::move(listener)] { listeners_.Set(map, listener); });
  }

 private:
  // Later, as over a connection: the service is at work on the stack.
  void Deliver(ByteView message) {
    loop_->Post([this, bytes = Bytes(message.begin(), message.end())] { listeners_.Receive(bytes); });
  }

  const std::unique_ptr<net::EventLoop> loop_;
  const Roster& roster_;
  std::unique_ptr<Service> service_;
  RootListeners listeners_;
  std::thread thread_;
  bool stop_ = false;
};

// `roster` has one rank and outlives the result.
Result<std::unique_ptr<RootLink>> StartLocalRoot(const Roster& roster) {
  MUSTER_TRY(auto loop, net::EventLoop::Create());
  auto link = std::make_unique<LocalLink>(std::move(loop), roster);
  MUSTER_CHECK(link->Serve());
  return link;
}

}  // namespace

Result<std::unique_ptr<Member>> Member::Join(Group& group, const Identity& identity, const Options& options,
                                             Deadline deadline) {
  if (options.retries < 0 || options.retries > kMostRetries || options.slots < 1)
    return muster::Fail(Code::kUsage, "a map has 0 to {} retries and at least one slot", kMostRetries);
  if (identity.items > kMostItems)
    return muster::Fail(Code::kUsage, "a map of {} items: {} at most", identity.items, kMostItems);
  if (!options.classes.empty() && options.classes.size() != identity.items)
    return muster::Fail(Code::kUsage, "a map of {} items has the classes of {}", identity.items,
                        options.classes.size());
  const uint32_t number = group.TakeMapNumber();
  RootLink* link = group.root_link();
  std::unique_ptr<RootLink> own_link;
  if (link == nullptr) {
    MUSTER_TRY(own_link, StartLocalRoot(group.roster()));
    link = own_link.get();
  }
  auto member = std::make_unique<GroupMember>(*link, std::move(own_link), number, options.end_children);
  MUSTER_CHECK(member->Join(identity, options, group.rank() == 0, deadline));
  return member;
}

}  // namespace muster::map

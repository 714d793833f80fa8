// Durable commits of a map's journal beside a bare writer that appends the same bytes and calls fdatasync in
// groups, in turn: journal_commits DIRECTORY [ROUNDS [RECORDS [BYTES]]]. A line a round: commits a second of
// the journal and of the bare writer, their ratio, and the processor time of a commit in microseconds.
// journal_commits --memory DIRECTORY ITEMS: the memory of a root that opens a journal of that number of small
// records.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/map/journal/writer.h"
#include "comm/net/event_loop.h"

namespace {

using muster::Bytes;
using muster::Deadline;
using muster::Status;
using muster::map::JournalRecord;
using muster::map::JournalWriter;

// As many as a root has from its ranks at a time.
constexpr uint64_t kInFlight = 2048;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "journal_commits: %s\n", what.c_str());
  std::exit(1);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

JournalRecord RecordOf(uint64_t item, size_t bytes) {
  return {muster::map::Ending::kCommitted,
          item,
          "key-" + std::to_string(item),
          7,
          "gpu01",
          1,
          std::chrono::milliseconds(20),
          muster::map::Format::kJson,
          Bytes(bytes, 'x')};
}

JournalWriter::Opened Open(const std::string& path, uint64_t items, muster::net::EventLoop& loop) {
  muster::map::Identity identity;
  identity.items = items;
  auto opened = JournalWriter::Open(path, identity, {"gpu01", getpid(), "bench", ""}, false, loop.mailbox());
  if (!opened) Die(ToString(opened.error()));
  return *std::move(opened);
}

// A new record for each that is durable, as ranks send them. The seconds.
double Commit(JournalWriter& writer, muster::net::EventLoop& loop, uint64_t records, size_t bytes) {
  uint64_t sent = 0;
  uint64_t done = 0;
  std::function<void(const Status&)> next;
  const auto send = [&] { writer.Append(RecordOf(sent++, bytes), next); };
  next = [&](const Status& status) {
    if (!status) Die(ToString(status.error()));
    ++done;
    if (sent < records) send();
  };
  const double start = Now();
  while (sent < std::min(records, kInFlight)) send();
  loop.RunUntil([&] { return done == records; }, Deadline::Never());
  return Now() - start;
}

// The same in its simplest form: two threads, a buffer each, a group while the one before is synchronised.
double CommitBare(const std::string& path, uint64_t records, size_t bytes) {
  const muster::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) Die("cannot make " + path);
  const std::string record(bytes, 'x');
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  uint64_t sent = 0;
  uint64_t durable = 0;
  const double start = Now();
  std::thread writer([&] {
    std::string group;
    for (uint64_t written = 0; written < records;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !waiting.empty(); });
        group.clear();
        group.swap(waiting);
      }
      if (write(fd.get(), group.data(), group.size()) != static_cast<ssize_t>(group.size()))
        Die("cannot write");
      if (fdatasync(fd.get()) != 0) Die("cannot synchronise");
      written += group.size() / bytes;
      const std::lock_guard lock(mutex);
      durable = written;
      changed.notify_all();
    }
  });
  std::unique_lock lock(mutex);
  while (durable < records) {
    while (sent < records && sent - durable < kInFlight) {
      waiting += record;
      ++sent;
    }
    changed.notify_all();
    const uint64_t before = durable;
    changed.wait(lock, [&] { return durable != before; });
  }
  lock.unlock();
  writer.join();
  return Now() - start;
}

void Compare(const std::string& folder, int rounds, uint64_t records, size_t bytes) {
  for (int round = 0; round < rounds; ++round) {
    const std::string path = folder + "/bench.journal";
    const std::string bare_path = folder + "/bench.bare";
    double bare = 0;
    double journal = 0;
    double cpu = 0;
    for (int turn = 0; turn < 2; ++turn) {
      if ((turn + round) % 2 == 0) {
        bare = CommitBare(bare_path, records, bytes);
        continue;
      }
      auto loop = muster::net::EventLoop::Create();
      if (!loop) Die(ToString(loop.error()));
      auto opened = Open(path, records, **loop);
      const double before = Cpu();
      journal = Commit(*opened.writer, **loop, records, bytes);
      cpu = Cpu() - before;
    }
    const auto count = static_cast<double>(records);
    std::printf("%.0f %.0f %.2f %.1f\n", count / journal, count / bare, bare / journal, cpu / count * 1e6);
    std::fflush(stdout);
    std::filesystem::remove_all(path);
    std::filesystem::remove(bare_path);
  }
}

// Of this process, "VmHWM" or "VmRSS", in MiB.
double Memory(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::atof(line.c_str() + field.size() + 1) / 1024;
  }
  return 0;
}

// One process writes; this one, which is new, opens.
void OpenMany(const std::string& folder, uint64_t items) {
  const std::string path = folder + "/memory.journal";
  auto loop = muster::net::EventLoop::Create();
  if (!loop) Die(ToString(loop.error()));
  if (!std::filesystem::exists(path)) {
    auto opened = Open(path, items, **loop);
    Commit(*opened.writer, **loop, items, 8);
    if (const Status closed = opened.writer->Close(); !closed) Die(ToString(closed.error()));
    std::printf("written: run it again to open it\n");
    return;
  }
  const double before = Memory("VmRSS");
  const double start = Now();
  auto opened = Open(path, items, **loop);
  const double seconds = Now() - start;
  const double with_list = Memory("VmRSS");
  const size_t resumed = opened.resumed.size();
  opened.resumed = std::vector<JournalWriter::Resumed>();
  std::printf(
      "%zu items in %.1f s: most %.0f MiB (%.0f before), with the list of items %.0f, without it %.0f\n",
      resumed, seconds, Memory("VmHWM"), before, with_list, Memory("VmRSS"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--memory") == 0) {
    OpenMany(argv[2], std::strtoull(argv[3], nullptr, 10));
  } else if (argc >= 2) {
    Compare(argv[1], argc > 2 ? std::atoi(argv[2]) : 1,
            argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 50'000,
            argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1024);
  } else {
    Die("DIRECTORY [ROUNDS [RECORDS [BYTES]]], or --memory DIRECTORY ITEMS");
  }
}

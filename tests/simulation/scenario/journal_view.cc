#include "tests/simulation/scenario/journal_view.h"

#include "comm/map/journal/reader.h"

namespace muster::simulation {
namespace {

constexpr uint64_t kMostEvents = 1000000;

Status Read(const std::string& path, JournalView& view) {
  MUSTER_TRY(map::JournalReader reader, map::JournalReader::Open(path));
  const auto flaw = std::ranges::find_if(reader.flaws(), map::IsDamage);
  if (flaw != reader.flaws().end()) view.problem = Describe(*flaw);
  view.second_commits = reader.second_commits();
  Status status;
  reader.index().Visit([&](uint64_t, const map::JournalIndex::Place& place) {
    Result<map::JournalRecord> record = reader.ReadAt(place);
    if (!record) {
      status = Fail(record.error());
      return false;
    }
    view.items.push_back({*std::move(record), reader.segments()[place.segment].header.owner.group_id});
    return true;
  });
  return status;
}

}  // namespace

JournalView ReadJournal(World& world, const std::string& path, uid_t user) {
  JournalView view;
  Process& process = world.AddProcess(world.AddNode("reader"), user, "reader");
  process.Start([&] {
    const KernelMemory kernel;
    const Status read = Read(path, view);
    if (!read) view.problem = ToString(read.error());
  });
  const auto ended = [&] { return process.state == Process::State::kEnded; };
  world.Run(world.now() + std::chrono::hours(1), world.events() + kMostEvents, ended);
  return view;
}

}  // namespace muster::simulation

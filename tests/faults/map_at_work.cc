// A rank of a map whose results are known: item I takes 1 to 20 ms, and its result is map_kills.py's for I.
//
//   map_at_work ITEMS JOURNAL
//
// Ends with 0, or with the status of the error; 80 if items are left.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.h"

namespace muster {
namespace {

std::chrono::milliseconds TimeOf(uint64_t item) { return std::chrono::milliseconds(1 + item * 7919 % 20); }

Bytes ResultOf(uint64_t item) {
  std::string text;
  for (int line = 0; line < 8; ++line)
    text += std::to_string(item * item + static_cast<uint64_t>(line)) + " ";
  return {text.begin(), text.end()};
}

Result<int> Work(uint64_t items, const std::string& journal) {
  MUSTER_CHECK(Init());
  map::Options options;
  options.journal = journal;
  options.retries = 30;
  MUSTER_TRY(auto member,
             BeginMap({items, {}, map::DigestOf(AsBytes("map_at_work")), "map_at_work"}, options));
  while (true) {
    MUSTER_TRY(const std::optional<map::Item> item, member->Next());
    if (!item) break;
    std::this_thread::sleep_for(TimeOf(item->index));
    MUSTER_CHECK(member->Commit(item->index, std::to_string(item->index), map::Format::kBytes,
                                ResultOf(item->index), TimeOf(item->index)));
  }
  MUSTER_TRY(const map::Outcome outcome, member->Finish());
  member.reset();
  MUSTER_CHECK(Shutdown());
  return outcome.committed == items ? 0 : 80;
}

}  // namespace
}  // namespace muster

int main(int count, char** arguments) {
  if (count != 3) return 64;
  const muster::Result<int> done = muster::Work(std::strtoull(arguments[1], nullptr, 10), arguments[2]);
  if (!done) std::fprintf(stderr, "map_at_work: %s\n", muster::ToString(done.error()).c_str());
  return done ? *done : muster::ExitStatus(done.error().code);
}

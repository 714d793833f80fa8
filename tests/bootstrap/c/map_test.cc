// The end of maps while other threads are in their calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "bootstrap/c/muster.h"
#include "tests/bootstrap/c/await_sleep.h"

namespace {

using muster::testing_support::AwaitLongSleep;

std::string TextOf(muster_error* error) {
  std::string text =
      std::string(muster_code_name(muster_error_code(error))) + ": " + muster_error_message(error);
  muster_error_free(error);
  return text;
}

// In the world of one: a thread waits for the item that this one has, or is about to, while `end` ends the map.
std::string WhileAThreadWaits(bool surely, const std::function<void(muster_map*)>& end) {
  muster_comm* world = nullptr;
  EXPECT_EQ(TextOf(muster_init(MUSTER_ABI_VERSION, nullptr, &world)), "ok: ");
  muster_map_options options{};
  options.items = 1;
  options.slots = 2;
  options.quiet = 1;
  muster_map* map = nullptr;
  EXPECT_EQ(TextOf(muster_map_begin(world, &options, &map)), "ok: ");
  uint64_t item = MUSTER_MAP_END;
  EXPECT_EQ(TextOf(muster_map_next(map, &item, nullptr)), "ok: ");
  EXPECT_EQ(item, 0);
  std::string result;
  std::promise<pid_t> begins;
  std::thread waits([&] {
    uint64_t none = 0;
    begins.set_value(gettid());
    result = TextOf(muster_map_next(map, &none, nullptr));
  });
  const pid_t thread = begins.get_future().get();
  if (surely) AwaitLongSleep(thread);
  end(map);
  waits.join();
  EXPECT_EQ(TextOf(muster_map_next(map, &item, nullptr)), "usage: the map has ended: muster was shut down");
  EXPECT_EQ(TextOf(muster_shutdown()), "ok: ");
  return result;
}

void ExpectItEnds(const std::function<void(muster_map*)>& end) {
  const std::string in_the_call = "usage: this process has ended the map";
  const std::string before_it = "usage: the map has ended: muster was shut down";
  EXPECT_EQ(WhileAThreadWaits(true, end), in_the_call);
  for (int i = 0; i < 30; ++i)
    EXPECT_THAT(WhileAThreadWaits(false, end), testing::AnyOf(in_the_call, before_it));
}

TEST(Shutdown, EndsTheCallsOfAMap) {
  ExpectItEnds([](muster_map*) { EXPECT_EQ(TextOf(muster_shutdown()), "ok: "); });
}

TEST(MapFree, EndsTheCallsOfItsMap) { ExpectItEnds(muster_map_free); }

}  // namespace

#include "bootstrap/join/ports_of_others.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::join {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PortsOfOthers, IsJaxsCoordinator) {
  EXPECT_THAT(PortsOfOthers("1"), ElementsAre(61441));
  EXPECT_THAT(PortsOfOthers("4095"), ElementsAre(65535));
  EXPECT_THAT(PortsOfOthers("4096"), ElementsAre(61440));
  EXPECT_THAT(PortsOfOthers("6022877"), ElementsAre(61440 + 6022877 % 4096));
}

TEST(PortsOfOthers, WithoutANumberThereAreNone) {
  for (const char* id : {"", "x", "12x", "-1"}) EXPECT_THAT(PortsOfOthers(id), IsEmpty()) << id;
}

}  // namespace
}  // namespace muster::join

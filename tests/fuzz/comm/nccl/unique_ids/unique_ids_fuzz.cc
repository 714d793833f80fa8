// Another rank's message while the group draws NCCL's ids. A decoded one is encoded as the very bytes it came
// from.
#include <algorithm>

#include "comm/nccl/unique_ids/unique_ids.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  if (const auto part = DecodeFields<nccl::NcclIdPart>(input, "NCCL id")) {
    Require(std::ranges::equal(EncodeFields(*part), input), "a part is written as it came");
  } else {
    Require(part.error().message.starts_with("malformed NCCL id: "), "{}", part.error().message);
  }
}

std::vector<Bytes> Seeds() {
  nccl::NcclId id = {};
  id.fill(0x5a);
  return {EncodeFields(nccl::NcclIdPart{{2, 32, 3}, 60'000, {}, ""}),
          EncodeFields(nccl::NcclIdPart{{2, 18, 0}, 0, id, ""}),
          EncodeFields(nccl::NcclIdPart{{2, 32, 3}, 0, {}, "unhandled system error"})};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds}; }

}  // namespace muster::fuzz

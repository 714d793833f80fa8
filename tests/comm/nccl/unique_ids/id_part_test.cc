#include "comm/nccl/unique_ids/id_part.h"

#include <gtest/gtest.h>

#include "tests/comm/base/print_error.h"

namespace muster::nccl {
namespace {

NcclId SomeId() {
  NcclId id = {};
  for (size_t i = 0; i < id.size(); ++i) id.at(i) = static_cast<uint8_t>(i + 1);
  return id;
}

TEST(IdPart, IsReadBack) {
  for (const NcclIdPart& part :
       {NcclIdPart{{2, 32, 3}, 500, {}, ""}, NcclIdPart{{2, 18, 0}, 0, SomeId(), ""},
        NcclIdPart{{2, 32, 3}, 0xffffffff, {}, "unhandled system error: no interface"}}) {
    const auto read = DecodeIdPart(EncodeIdPart(part));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, part);
  }
}

TEST(IdPart, LooksAsDocumented) {
  EXPECT_EQ(EncodeIdPart({{2, 32, 3}, 500, {}, ""}), (Bytes{2, 0, 32, 0, 3, 0, 0xf4, 1, 0, 0, 0}));
  EXPECT_EQ(EncodeIdPart({{2, 32, 3}, 500, {}, "no"}),
            (Bytes{2, 0, 32, 0, 3, 0, 0xf4, 1, 0, 0, 2, 2, 0, 0, 0, 'n', 'o'}));
  const Bytes drawn = EncodeIdPart({{2, 32, 3}, 500, SomeId(), ""});
  ASSERT_EQ(drawn.size(), 11u + 128u);
  EXPECT_EQ(drawn[10], 1);
  EXPECT_EQ(drawn[11], 1);
  EXPECT_EQ(drawn.back(), 128);
}

TEST(IdPart, AnythingElseIsRefused) {
  Bytes cut = EncodeIdPart({{2, 32, 3}, 500, SomeId(), ""});
  cut.pop_back();
  Bytes long_one = EncodeIdPart({{2, 32, 3}, 500, SomeId(), ""});
  long_one.push_back(0);
  for (const Bytes& bytes : {Bytes{}, Bytes{2, 0, 32, 0, 3, 0}, Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 3},
                             Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}, cut}) {
    const auto part = DecodeIdPart(bytes);
    ASSERT_FALSE(part) << bytes.size();
    EXPECT_EQ(part.error(), (Error{Code::kInternal, "malformed NCCL id: it ends too early", ""}));
  }
  for (const Bytes& bytes : {Bytes{2, 0, 32, 0, 3, 0, 0, 0, 0, 0, 0, 0}, long_one}) {
    const auto part = DecodeIdPart(bytes);
    ASSERT_FALSE(part) << bytes.size();
    EXPECT_EQ(part.error(), (Error{Code::kInternal, "malformed NCCL id: 1 bytes too many", ""}));
  }
}

}  // namespace
}  // namespace muster::nccl

#include "comm/system/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/comm/base/print_error.h"

namespace muster {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Built beside this test: exports ncclGetVersion and cudaRuntimeGetVersion, and reports an old version.
const std::string kOld = std::getenv("OLD_LIBRARY");

TEST(SharedLibrary, TakesTheFirstFileThatIsThere) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1"}, {"/nonexistent/lib.so", kOld});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT(library->path(), EndsWith(kOld));
  int (*version)(int*) = nullptr;
  EXPECT_TRUE(library->Need("ncclGetVersion", &version));
  EXPECT_NE(version, nullptr);
}

TEST(SharedLibrary, TakesWhatThisProcessHasLoadedBeforeAnyFile) {
  const auto library = SharedLibrary::Open({"libc.so.6"}, {kOld});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT(library->path(), EndsWith("libc.so.6"));
}

TEST(SharedLibrary, TriesEveryNameInTurn) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1", "libc.so.6"}, {});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT(library->path(), EndsWith("libc.so.6"));
}

TEST(SharedLibrary, TakesALastResortAfterTheLoadersOwnSearch) {
  const auto found = SharedLibrary::Open({"libm.so.6"}, {}, {kOld});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->path(), EndsWith("libm.so.6"));
  const auto last = SharedLibrary::Open({"libmuster-no-such.so.1"}, {}, {"/nonexistent/lib.so", kOld});
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_THAT(last->path(), EndsWith(kOld));
}

TEST(SharedLibrary, SaysWhatWasTriedAndWhy) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1"}, {"/dev/null"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kConfiguration);
  EXPECT_THAT(library.error().message, StartsWith("cannot load libmuster-no-such.so.1: /dev/null: "));
  EXPECT_THAT(library.error().message, HasSubstr("; libmuster-no-such.so.1: "));
}

TEST(SharedLibrary, NamesWhatIsMissing) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1"}, {kOld});
  ASSERT_TRUE(library) << library.error().message;
  int (*function)() = nullptr;
  const Status needed = library->Need("muster_no_such_function", &function);
  ASSERT_FALSE(needed);
  EXPECT_EQ(needed.error(), (Error{Code::kConfiguration,
                                   library->path() + " has no muster_no_such_function: it is too old, or "
                                                     "something else",
                                   ""}));
}

struct SomeFunctions {
  Symbols symbols;
  int (*version)(int*) = symbols.Need("ncclGetVersion");
  int (*optional)() = symbols.Want("muster_no_such_function");
};

struct MissingFunctions {
  Symbols symbols;
  int (*version)(int*) = symbols.Need("ncclGetVersion");
  int (*first)() = symbols.Need("muster_no_such_function");
  int (*second)() = symbols.Need("muster_no_other_function");
};

TEST(Symbols, AreFoundForEachMemberOfAStruct) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1"}, {kOld});
  ASSERT_TRUE(library) << library.error().message;
  const auto functions = FindFunctions<SomeFunctions>(*library);
  ASSERT_TRUE(functions) << functions.error().message;
  int version = 0;
  functions->version(&version);
  EXPECT_NE(version, 0);
  EXPECT_EQ(functions->optional, nullptr);
}

TEST(Symbols, NameTheFirstThatIsMissing) {
  const auto library = SharedLibrary::Open({"libmuster-no-such.so.1"}, {kOld});
  ASSERT_TRUE(library) << library.error().message;
  const auto functions = FindFunctions<MissingFunctions>(*library);
  ASSERT_FALSE(functions);
  EXPECT_THAT(functions.error().message, HasSubstr(" has no muster_no_such_function: "));
}

}  // namespace
}  // namespace muster

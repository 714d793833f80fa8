#include "bootstrap/map/items/item_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::map {
namespace {

TEST(KeyOf, IsTheFieldForIt) {
  EXPECT_EQ(KeyOf({{"model", "a"}, {"id", "7"}, {"key", "k"}}), "k");
  EXPECT_EQ(KeyOf({{"model", "a"}, {"id", "7"}}), "7");
  EXPECT_EQ(KeyOf({{"item", "a, b=c"}}), "a, b=c");
}

TEST(KeyOf, IsElseAllFieldsByName) {
  EXPECT_EQ(KeyOf({{"task", "x"}, {"model", "a"}}), "model=a,task=x");
  EXPECT_EQ(KeyOf({{"task", "x"}, {"model", "a"}}), KeyOf({{"model", "a"}, {"task", "x"}}));
}

TEST(KeyOf, DiffersForDifferentFields) {
  EXPECT_NE(KeyOf({{"a", "1,b=2"}}), KeyOf({{"a", "1"}, {"b", "2"}}));
  EXPECT_NE(KeyOf({{"a", "%2C"}}), KeyOf({{"a", ","}}));
  EXPECT_EQ(KeyOf({{"a", "1,b=2\n"}}), "a=1%2Cb%3D2%0A");
}

TEST(KeyOf, IsCutWithADigestOfTheWhole) {
  const std::string one = KeyOf({{"item", std::string(600, 'x') + "1"}});
  const std::string other = KeyOf({{"item", std::string(600, 'x') + "2"}});
  EXPECT_EQ(one.size(), 512u);
  EXPECT_NE(one, other);
  EXPECT_EQ(KeyOf({{"item", std::string(512, 'x')}}), std::string(512, 'x'));
}

TEST(DirectoryNameOf, IsSafeAndReadable) {
  EXPECT_EQ(DirectoryNameOf("model=a,task=x"), "model=a,task=x");
  EXPECT_EQ(DirectoryNameOf("org/model:7b v2"), "org%2Fmodel%3A7b%20v2");
  EXPECT_EQ(DirectoryNameOf("日本"), "日本");
}

TEST(DirectoryNameOf, IsNoneThatOthersHave) {
  for (const char* key : {".", "..", ".attempts", ".failed", "journal", "a/../..", "/"}) {
    const std::string name = DirectoryNameOf(key);
    EXPECT_FALSE(name.starts_with('.')) << key;
    EXPECT_EQ(name.find('/'), std::string::npos) << key;
    EXPECT_NE(name, "journal");
  }
  EXPECT_EQ(DirectoryNameOf("journal"), "%6Aournal");
}

TEST(DirectoryNameOf, DiffersForDifferentKeys) {
  std::set<std::string> names;
  for (const char* key : {"a b", "a%20b", "a%2520b", "journal", "%6Aournal", ".x", "%2Ex", "x~", "x"})
    EXPECT_TRUE(names.insert(DirectoryNameOf(key)).second) << key;
}

TEST(DirectoryNameOf, IsShortEnoughForAFileAndCutBetweenCharacters) {
  std::string key;
  for (int i = 0; i < 100; ++i) key += "ß∂";
  const std::string name = DirectoryNameOf(key);
  EXPECT_LE(name.size(), 180u);
  const std::string kept = name.substr(0, name.find('~'));
  EXPECT_TRUE(kept.ends_with("ß") || kept.ends_with("∂")) << name;
  EXPECT_NE(name, DirectoryNameOf(key + "x"));
}

}  // namespace
}  // namespace muster::map

#include "bootstrap/map/items/item_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/comm/base/folder.h"
#include "tests/comm/base/print_error.h"

namespace muster::map {
namespace {

using testing::ElementsAre;
using testing::Pair;

class Items : public testing::Test {
 protected:
  // Of a file with this text. Its name in messages is F.
  Result<std::unique_ptr<ItemSource>> Of(const std::string& name, const std::string& text) {
    config::MapItems items;
    items.file = folder_.Write(name, text);
    return ItemSource::Open(items, "sweep.yaml:1:1");
  }
  std::vector<std::string> Keys(const std::string& name, const std::string& text) {
    const auto source = Of(name, text);
    if (!source) return {Short(source.error())};
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < (*source)->size(); ++i) keys.push_back((*source)->Read(i)->key);
    return keys;
  }
  ItemFields Fields(const std::string& name, const std::string& text, uint64_t index = 0) {
    const auto source = Of(name, text);
    return source ? (*source)->Read(index)->fields : ItemFields{{"error", Short(source.error())}};
  }
  std::string Short(const Error& error) const {
    std::string text = error.message;
    for (size_t at = text.find(folder_.path()); at != std::string::npos; at = text.find(folder_.path()))
      text.erase(at, folder_.path().size() + 1);
    return text;
  }

  Folder folder_;
};

TEST_F(Items, OfTextAreItsLines) {
  EXPECT_THAT(Keys("a.txt", "x\n y \r\n\n\nz"), ElementsAre("x", " y ", "z"));
  EXPECT_THAT(Keys("a.txt", "\xef\xbb\xbfx\n"), ElementsAre("x"));
  EXPECT_THAT(Fields("a.txt", "x,y\n"), ElementsAre(Pair("item", "x,y")));
}

TEST_F(Items, OfJsonLinesAreObjectsOrValues) {
  EXPECT_THAT(
      Fields("a.jsonl", R"({"model": "a\"b", "lr" : 1e-5, "n": 0.10, "on": true, "x": {"y": [1, "}"]}})"),
      ElementsAre(Pair("model", "a\"b"), Pair("lr", "1e-5"), Pair("n", "0.10"), Pair("on", "true"),
                  Pair("x", R"({"y": [1, "}"]})")));
  EXPECT_THAT(Keys("a.jsonl", "\"a b\"\n  \n7\n{\"id\": 3}\n"), ElementsAre("a b", "7", "3"));
}

TEST_F(Items, OfJsonKeepTheirTextForPrograms) {
  const auto source = Of("a.jsonl", "{\"id\":\"x\",\"n\":2}\n\"bare\"\n");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->Read(0)->text, R"({"id": "x", "n": "2"})");
  EXPECT_EQ((*source)->Read(1)->text, "bare");
}

TEST_F(Items, OfCsvFollowRfc4180) {
  EXPECT_THAT(Keys("a.csv", "id,text\r\n1,\"a,\"\"b\"\"\r\nc\"\r\n2,\r\n"), ElementsAre("1", "2"));
  EXPECT_THAT(Fields("a.csv", "id,text\r\n1,\"a,\"\"b\"\"\r\nc\"\r\n"),
              ElementsAre(Pair("id", "1"), Pair("text", "a,\"b\"\r\nc")));
  EXPECT_THAT(Fields("a.csv", "id,text\n2,\n"), ElementsAre(Pair("id", "2"), Pair("text", "")));
}

TEST_F(Items, AreRefusedWithFileLineAndColumn) {
  EXPECT_THAT(
      Keys("a.csv", "id,text\n1,a\n2,b,c\n"),
      ElementsAre("a.csv:3:1: 3 fields; the header line has 2; write a field for each of its names, in "
                  "quotes if it has a comma"));
  EXPECT_THAT(
      Keys("a.csv", "id,text\n1,a\"b\n"),
      ElementsAre(
          "a.csv:2:4: a quote inside a field; write the whole field in quotes, and \"\" for a quote"));
  EXPECT_THAT(Keys("a.csv", "id\n\"x\n\n"), ElementsAre("a.csv:2:1: this quote is never closed"));
  EXPECT_THAT(Keys("a.csv", "id,id\n1,2\n"),
              ElementsAre("a.csv:1:1: the header line has \"id\" a second time"));
  EXPECT_THAT(Keys("a.jsonl", "{\"a\": 1}\n{\"a\": 1e5000}\n"),
              ElementsAre("a.jsonl:2:1: a number beyond 1.8e308; write it in quotes"));
  EXPECT_THAT(Keys("a.csv", "id,\xff\n1,2\n"), ElementsAre("a.csv:1:4: not UTF-8"));
  EXPECT_THAT(Keys("a.csv", "id\n"), ElementsAre("a.csv has no items"));
  EXPECT_THAT(Keys("a.jsonl", "{\"a\": 1}\n{\"a\": }\n"),
              ElementsAre(testing::StartsWith("a.jsonl:2:7: broken JSON: ")));
  EXPECT_THAT(Keys("a.jsonl", "[1]\n"),
              ElementsAre("a.jsonl:1:1: an object, text or a number is expected, not a list"));
  EXPECT_THAT(Keys("a.jsonl", "{}\n"), ElementsAre("a.jsonl:1:1: the object is empty"));
  EXPECT_THAT(Keys("a.jsonl", "{\"a\": 1, \"a\": 2}\n"),
              ElementsAre("a.jsonl:1:10: the field \"a\" a second time"));
  EXPECT_THAT(Keys("a.txt", "x\ny\xff\n"), ElementsAre("a.txt:2:2: not UTF-8"));
  EXPECT_THAT(Keys("a.txt", std::string("x\n\0y\n", 5)),
              ElementsAre("a.txt:2:1: text cannot hold a zero byte"));
  for (const char* line : {R"("a\u0000b")", R"({"a\u0000": 1})", R"({"a": "\u0000"})"}) {
    EXPECT_THAT(Keys("a.jsonl", line), ElementsAre(testing::EndsWith(": text cannot hold a zero byte")))
        << line;
  }
  EXPECT_THAT(Keys("a.txt", "\n\n"), ElementsAre("a.txt has no items"));
  EXPECT_THAT(Keys("a.jsonl", "{\"key\": \"\"}\n"), ElementsAre("a.jsonl:1: the item's key is empty"));
}

TEST_F(Items, WithOneKeyAreRefusedByBothLines) {
  EXPECT_THAT(Keys("a.txt", "x\ny\n\nx\n"),
              ElementsAre("a.txt:4: the key \"x\" a second time; the first is at a.txt:1"));
  EXPECT_THAT(Keys("a.csv", "id,n\n1,a\n1,b\n"),
              ElementsAre("a.csv:3: the key \"1\" a second time; the first is at a.csv:2"));
}

TEST_F(Items, ComeFromAFileThatEveryRankCanRead) {
  config::MapItems items;
  items.file = "-";
  EXPECT_EQ(ItemSource::Open(items, "").error().hint, "write them to a file that all nodes share");
  items.file = folder_.Write("a.json", "[]");
  EXPECT_EQ(Short(ItemSource::Open(items, "").error()),
            "a.json: the extension does not determine the format");
  items.file = folder_.File("none.txt");
  EXPECT_EQ(Short(ItemSource::Open(items, "").error()), "cannot read none.txt: No such file or directory");
  EXPECT_EQ(ItemSource::Open(items, "").error().hint, "give a file that this user can read");
  std::filesystem::create_directory(folder_.File("d.txt"));
  items.file = folder_.File("d.txt");
  EXPECT_EQ(Short(ItemSource::Open(items, "").error()), "d.txt is not a regular file");
  EXPECT_EQ(ItemSource::Open({}, "").error().code, Code::kUsage);
}

TEST_F(Items, OfAFileThatChangesAreNotTakenForOthers) {
  const auto source = Of("a.txt", "one\ntwo\n");
  ASSERT_TRUE(source);
  std::ofstream(folder_.File("a.txt"), std::ios::app) << "three\n";
  EXPECT_TRUE((*source)->Read(1));
  std::ofstream(folder_.File("a.txt")) << "one\nelse\n";
  EXPECT_EQ(Short((*source)->Read(1).error()), "a.txt has changed since the map began");
  std::ofstream(folder_.File("a.txt")) << "one\n";
  EXPECT_EQ(Short((*source)->Read(1).error()), "a.txt has changed since the map began");
}

// More than one place of the index.
TEST_F(Items, OfALongFileAreFoundAgainWhereverTheyAre) {
  std::string text = "\xef\xbb\xbfid,text\n";
  for (size_t i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    text += number + ",\"line " + number + "\n" + std::string(i % 300, 'x') + "\"\n\n";
  }
  text += "1000," + std::string(200000, 'y') + "\n1001,z";
  const auto source = Of("a.csv", text);
  ASSERT_TRUE(source);
  ASSERT_EQ((*source)->size(), 1002);
  for (const uint64_t i : {999, 0, 63, 64, 500, 65, 1000, 1001})
    EXPECT_EQ((*source)->Read(i)->key, std::to_string(i));
  EXPECT_EQ(*Find((*source)->Read(64)->fields, "text"), "line 64\n" + std::string(64, 'x'));
  EXPECT_EQ(Find((*source)->Read(1000)->fields, "text")->size(), 200000);
  EXPECT_EQ(*Find((*source)->Read(1001)->fields, "text"), "z");
}

TEST_F(Items, CanBeMoreThanOneReadHolds) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "line " + std::to_string(i) + "\n";
  const auto source = Of("a.txt", text);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->size(), 200'000u);
  EXPECT_EQ((*source)->Read(199'999)->key, "line 199999");
  EXPECT_EQ((*source)->Read(77'777)->key, "line 77777");
  EXPECT_TRUE((*source)->Where(77'777).ends_with("a.txt:77778"));
}

TEST_F(Items, HaveNamesThatAllOrSomeHave) {
  const auto source = Of("a.jsonl", "{\"id\":1,\"a\":1}\n{\"id\":2,\"b\":2}\n{\"id\":3,\"a\":3}\n");
  ASSERT_TRUE(source);
  EXPECT_THAT((*source)->names(), ElementsAre("id"));
  ASSERT_EQ((*source)->partial_names().size(), 2u);
  EXPECT_EQ((*source)->partial_names()[0].name, "a");
  EXPECT_EQ((*source)->partial_names()[0].first_without, 1u);
  EXPECT_EQ((*source)->partial_names()[1].first_without, 0u);
}

TEST(ProductItems, AreAllCombinationsInTheOrderOfWriting) {
  config::MapItems items;
  items.product = {{"model", {"a", "b"}}, {"task", {"x", "y", "z"}}};
  const auto source = ItemSource::Open(items, "sweep.yaml:2:3");
  ASSERT_TRUE(source) << source.error().message;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < (*source)->size(); ++i) keys.push_back((*source)->Read(i)->key);
  EXPECT_THAT(keys, ElementsAre("model=a,task=x", "model=a,task=y", "model=a,task=z", "model=b,task=x",
                                "model=b,task=y", "model=b,task=z"));
  items.product[0].second = {"a", "a"};
  EXPECT_EQ(
      ItemSource::Open(items, "sweep.yaml:2:3").error().message,
      "combination 4 of map.items (sweep.yaml:2:3): the key \"model=a,task=x\" a second time; the first is "
      "at combination 1 of map.items (sweep.yaml:2:3)");
  items.product.assign(10, {"", std::vector<std::string>(100)});
  EXPECT_EQ(ItemSource::Open(items, "s.yaml:2:3").error().message,
            "s.yaml:2:3: map.items: more than 100000000 combinations");
}

TEST(ListItems, AreAsWritten) {
  config::MapItems items;
  items.list = {{{"item", "a"}}, {{"model", "m"}, {"id", "7"}}};
  const auto source = ItemSource::Open(items, "s");
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->Read(0)->key, "a");
  EXPECT_EQ((*source)->Read(1)->key, "7");
  EXPECT_EQ((*source)->Where(1), "item 2 of map.items (s)");
}

TEST(Identity, OfItemsIsTheirKeysInOrder) {
  const auto keys_of = [](std::vector<std::string> texts) {
    config::MapItems items;
    for (std::string& text : texts) items.list.push_back({{"item", std::move(text)}});
    return (*ItemSource::Open(items, ""))->keys();
  };
  EXPECT_EQ(keys_of({"a", "b"}), keys_of({"a", "b"}));
  EXPECT_NE(keys_of({"a", "b"}), keys_of({"b", "a"}));
  EXPECT_NE(keys_of({"ab", "c"}), keys_of({"a", "bc"}));
}

}  // namespace
}  // namespace muster::map

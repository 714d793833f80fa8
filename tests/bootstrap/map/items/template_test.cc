#include "bootstrap/map/items/template.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/comm/base/print_error.h"

namespace muster::map {
namespace {

class Template : public testing::Test {
 protected:
  Template() {
    config::MapItems items;
    items.list = {{{"model", "a"}, {"task", "x"}, {"rank", "own"}},
                  {{"model", "b"}, {"rank", "r"}, {"only", "2"}}};
    items_ = *ItemSource::Open(items, "s.yaml:1:1");
  }
  std::string Filled(std::string_view text, bool dollar = false) const {
    const auto parsed = ItemTemplate::Parse("the command", text, *items_, dollar);
    if (!parsed) return ToString(parsed.error());
    return parsed->Fill(*items_->Read(0), {{"slot", "3"}, {"node", "gpu01"}, {"rank", "7"}});
  }

  std::unique_ptr<ItemSource> items_;
};

TEST_F(Template, IsFilledWithFieldsAndFacts) {
  EXPECT_EQ(Filled("--model={model} on {node}/{slot}"), "--model=a on gpu01/3");
  EXPECT_EQ(Filled("{index} {key}"), "0 model=a,rank=own,task=x");
  EXPECT_EQ(Filled("{item}"), R"({"model": "a", "task": "x", "rank": "own"})");
  EXPECT_EQ(Filled("{{model}} $x ${{HOME}}"), "{model} $x ${HOME}");
}

TEST_F(Template, PrefersAField) { EXPECT_EQ(Filled("{rank}"), "own"); }

TEST_F(Template, TakesDollarsInVariablesOnly) {
  EXPECT_EQ(Filled("${node}-{model}", true), "gpu01-a");
  EXPECT_EQ(Filled("${node}-{model}"), "$gpu01-a");
}

TEST_F(Template, RefusesAnUnknownNameWithTheNearest) {
  EXPECT_EQ(Filled("{modell}"),
            "the command: there is no \"{modell}\" (did you mean {model}? write {{ for { itself)");
  EXPECT_EQ(Filled("{}"), "the command: there is no \"{}\" (did you mean {item}? write {{ for { itself)");
  EXPECT_TRUE(Filled("{\"lr\": 1}")
                  .starts_with("the command: there is no \"{\\\"lr\\\": 1}\" (there are model, rank, item"))
      << Filled("{\"lr\": 1}");
}

// {model} is two letters from {node}, which was not meant.
TEST_F(Template, NamesTheFieldOfPlainItems) {
  config::MapItems items;
  items.list = {{{"item", "a"}}, {{"item", "b"}}};
  items_ = *ItemSource::Open(items, "s.yaml:1:1");
  const std::string advice =
      " (the items are plain values, each of them {item}; a file .csv or .jsonl gives them named fields; "
      "write {{ for "
      "{ itself)";
  EXPECT_EQ(Filled("{model}"), "the command: there is no \"{model}\"" + advice);
  EXPECT_EQ(Filled("{temperature}"), "the command: there is no \"{temperature}\"" + advice);
  EXPECT_EQ(Filled("{itme}"),
            "the command: there is no \"{itme}\" (did you mean {item}? write {{ for { itself)");
  EXPECT_EQ(Filled("{}"), "the command: there is no \"{}\" (did you mean {item}? write {{ for { itself)");
}

TEST_F(Template, RefusesANameThatSomeItemsLack) {
  EXPECT_EQ(
      Filled("{task}"),
      "the command has {task}, but item 2 of map.items (s.yaml:1:1) has no such field (give every item this "
      "field)");
  EXPECT_EQ(
      Filled("{only}"),
      "the command has {only}, but item 1 of map.items (s.yaml:1:1) has no such field (give every item this "
      "field)");
}

TEST_F(Template, RefusesALoneBrace) {
  EXPECT_EQ(Filled("awk {print"),
            "the command: \"awk {print\": \"{print\" has no closing brace (write {{ for { itself)");
  EXPECT_EQ(Filled("a}"),
            "the command: \"a}\": a closing brace without an opening one (write }} for } itself)");
}

TEST_F(Template, IsPlainWithoutPlaceholders) {
  EXPECT_TRUE(ItemTemplate::Parse("x", "a{{b}}", *items_)->IsPlain());
  EXPECT_FALSE(ItemTemplate::Parse("x", "a{model}", *items_)->IsPlain());
}

}  // namespace
}  // namespace muster::map

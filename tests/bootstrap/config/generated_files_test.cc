// The files of configs/ that come from the table are equal to the table of now.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bootstrap/config/explain.h"
#include "bootstrap/config/generated.h"
#include "bootstrap/config/load.h"
#include "bootstrap/config/table.h"
#include "bootstrap/config/text/read_file.h"
#include "bootstrap/config/yaml_tree.h"
#include "bootstrap/resolve/launchers/launchers.h"

namespace muster::config {
namespace {

std::string Shipped(const std::string& name) {
  const auto text = ReadSmallFile("configs/" + name, 1 << 20);
  return text ? *text : text.error().message;
}

TEST(GeneratedFiles, AreUpToDate) {
  EXPECT_EQ(Shipped("schema.json"), SchemaText()) << "bazel run //bootstrap/config:generate -- schema";
  EXPECT_EQ(Shipped("REFERENCE.md"), ReferenceText()) << "bazel run //bootstrap/config:generate -- reference";
  EXPECT_EQ(Shipped("default.yaml"), DefaultYaml()) << "bazel run //bootstrap/config:generate -- default";
}

TEST(GeneratedFiles, TheLaunchersPageIsUpToDate) {
  const auto text = ReadSmallFile("bootstrap/resolve/launchers/LAUNCHERS.md", 1 << 20);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, LaunchersPage()) << "bazel run //bootstrap/config:generate -- launchers";
}

TEST(GeneratedFiles, DefaultYamlIsExactlyTheDefaults) {
  const auto loaded = LoadConfig("configs/default.yaml", {}, {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config, Config());
  for (const auto& [path, origin] : loaded->origins)
    EXPECT_TRUE(origin.starts_with("configs/default.yaml:")) << path;
}

const YamlNode* Member(const YamlNode& map, std::string_view name) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == name) return &map.items[i];
  }
  return nullptr;
}

// Well-formed JSON with a property for each key in its place.
TEST(GeneratedFiles, SchemaHasEveryKey) {
  const auto schema = ParseYaml(SchemaText(), "schema.json");
  ASSERT_TRUE(schema) << schema.error().message;
  const YamlNode* properties = Member(*schema, "properties");
  ASSERT_NE(properties, nullptr);
  for (const Key& key : Keys()) {
    const YamlNode* place = properties;
    if (!SectionOf(key.path).empty()) {
      const YamlNode* section = Member(*properties, SectionOf(key.path));
      ASSERT_NE(section, nullptr) << key.path;
      place = Member(*section, "properties");
    }
    ASSERT_NE(place, nullptr) << key.path;
    EXPECT_NE(Member(*place, NameOf(key.path)), nullptr) << key.path;
  }
}

// An editor offers every launcher, and underlines what is none.
TEST(GeneratedFiles, SchemaHasEveryLauncher) {
  const auto schema = ParseYaml(SchemaText(), "schema.json");
  ASSERT_TRUE(schema) << schema.error().message;
  const YamlNode* properties = Member(*schema, "properties");
  ASSERT_NE(properties, nullptr);
  const YamlNode* launcher = Member(*properties, "launcher");
  ASSERT_NE(launcher, nullptr);
  const YamlNode* names = Member(*launcher, "enum");
  ASSERT_NE(names, nullptr);
  std::vector<std::string> offered;
  for (const YamlNode& name : names->items) offered.push_back(name.text);
  std::vector<std::string> known = {"auto"};
  for (const resolve::Launcher* each : resolve::Launchers()) known.emplace_back(each->name);
  EXPECT_EQ(offered, known);
}

}  // namespace
}  // namespace muster::config

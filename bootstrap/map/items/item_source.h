// The items of a map: a list or a product of the configuration, or the records of a file. All ranks read the same.
//
// Of a file the items are not kept: each is read again when its turn comes (record_index.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/config.h"
#include "bootstrap/map/items/item_key.h"
#include "comm/base/bytes.h"
#include "comm/base/error.h"
#include "comm/map/journal/identity.h"

namespace muster::map {

struct SourceItem {
  uint64_t index = 0;
  std::string key;
  std::string text;   // a bare value as it is, else an object of JSON with all fields
  ItemFields fields;  // a bare value is the field "item"
};

class ItemSource {
 public:
  // `where`: the configuration's name in messages ("sweep.yaml:3:10"). BLOCKS for as long as reading the
  // whole file takes. Error: kConfiguration, with file:line:column: a record that cannot be read, an empty
  // key, a key twice, no items. `class_field`: the field whose value is the class of an item (map.class);
  // empty: none.
  static Result<std::unique_ptr<ItemSource>> Open(const config::MapItems& items, std::string_view where,
                                                  std::string_view class_field = {});
  virtual ~ItemSource() = default;

  virtual uint64_t size() const = 0;
  // Any thread. Error: kSystem: the file cannot be read now, or has changed meanwhile.
  virtual Result<SourceItem> Read(uint64_t index) const = 0;
  // "items.csv:17", "item 3 of map.items (sweep.yaml:3:10)".
  virtual std::string Where(uint64_t index) const = 0;

  // The names that every item has a field of, and those of some items only, in the order of their appearance.
  const std::vector<std::string>& names() const { return names_; }
  struct PartialName {
    std::string name;
    uint64_t first_without = 0;  // an item
  };
  const std::vector<PartialName>& partial_names() const { return partial_names_; }
  // The class of each item, as Options::classes has them; empty without a field for them.
  const Bytes& classes() const { return classes_; }
  // Of all keys in order: a part of the map's identity.
  const Digest& keys() const { return keys_; }

 protected:
  // Reads every item once.
  Status Survey(std::string_view class_field);

 private:
  // `hashes`: of all keys.
  Status CheckKeys(std::vector<uint64_t> hashes) const;

  std::vector<std::string> names_;
  std::vector<PartialName> partial_names_;
  Bytes classes_;
  Digest keys_{};
};

// `fields` become an item: key and text.
SourceItem MakeItem(uint64_t index, ItemFields fields);

}  // namespace muster::map

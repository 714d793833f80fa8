#include "bootstrap/map/items/item_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/items/item_file.h"
#include "comm/map/options.h"

namespace muster::map {
namespace {

// The limits of a product and of a file.
constexpr uint64_t kMostItems = 100'000'000;
constexpr size_t kMostNames = 4096;

// Which names the items seen so far have.
class NameCounter {
 public:
  void Count(const SourceItem& item) {
    for (const auto& [name, text] : item.fields) {
      auto found = uses_.find(name);
      if (found == uses_.end()) {
        if (uses_.size() == kMostNames) continue;
        found = uses_.try_emplace(name).first;
        order_.push_back(name);
      }
      if (found->second == item.index) ++found->second;
    }
  }
  const std::vector<std::string>& order() const { return order_; }
  // How many items from the first on have it without a gap.
  uint64_t Leading(const std::string& name) const { return uses_.at(name); }

 private:
  std::map<std::string, uint64_t> uses_;
  std::vector<std::string> order_;
};

// The classes by their names. The last number is for all names that come late.
class ClassNumbers {
 public:
  uint8_t Of(const std::string& name) {
    constexpr size_t kLast = kMostClasses - 1;
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    const auto next = static_cast<uint8_t>(std::min(numbers_.size(), kLast));
    if (next < kLast) numbers_[name] = next;
    return next;
  }

 private:
  std::map<std::string, uint8_t> numbers_;
};

class ListItems : public ItemSource {
 public:
  ListItems(const config::MapItems& items, std::string_view where) : items_(items), where_(where) {}
  Status Prepare(std::string_view class_field) { return Survey(class_field); }

  uint64_t size() const override { return items_.list.size(); }
  Result<SourceItem> Read(uint64_t index) const override { return MakeItem(index, items_.list.at(index)); }
  std::string Where(uint64_t index) const override {
    return fmt::format("item {} of map.items ({})", index + 1, where_);
  }

 private:
  const config::MapItems items_;
  const std::string where_;
};

// In the order of writing: the last list turns fastest.
class ProductItems : public ItemSource {
 public:
  ProductItems(const config::MapItems& items, std::string_view where) : items_(items), where_(where) {}
  Status Prepare(std::string_view class_field) {
    for (const auto& [name, texts] : items_.product) {
      if (texts.size() > kMostItems / size_) {
        return Fail(Code::kConfiguration, "{}: map.items: more than {} combinations", where_, kMostItems);
      }
      size_ *= texts.size();
    }
    return Survey(class_field);
  }

  uint64_t size() const override { return size_; }
  Result<SourceItem> Read(uint64_t index) const override {
    ItemFields fields(items_.product.size());
    uint64_t rest = index;
    for (size_t i = fields.size(); i-- > 0;) {
      const auto& [name, texts] = items_.product[i];
      fields[i] = {name, texts[rest % texts.size()]};
      rest /= texts.size();
    }
    return MakeItem(index, std::move(fields));
  }
  std::string Where(uint64_t index) const override {
    return fmt::format("combination {} of map.items ({})", index + 1, where_);
  }

 private:
  const config::MapItems items_;
  const std::string where_;
  uint64_t size_ = 1;
};

}  // namespace

SourceItem MakeItem(uint64_t index, ItemFields fields) {
  SourceItem item;
  item.index = index;
  item.key = KeyOf(fields);
  if (fields.size() == 1 && fields.front().first == "item") {
    item.text = fields.front().second;
  } else {
    for (const auto& [name, text] : fields) {
      item.text += fmt::format("{}{}: {}", item.text.empty() ? "{" : ", ", config::JsonQuoted(name),
                               config::JsonQuoted(text));
    }
    item.text += "}";
  }
  item.fields = std::move(fields);
  return item;
}

Result<std::unique_ptr<ItemSource>> ItemSource::Open(const config::MapItems& items, std::string_view where,
                                                     std::string_view class_field) {
  if (!items.file.empty()) return OpenItemFile(items.file, class_field);
  if (!items.list.empty()) {
    auto list = std::make_unique<ListItems>(items, where);
    MUSTER_CHECK(list->Prepare(class_field));
    return list;
  }
  if (!items.product.empty()) {
    auto product = std::make_unique<ProductItems>(items, where);
    MUSTER_CHECK(product->Prepare(class_field));
    return product;
  }
  return WithHint(Fail(Code::kUsage, "there are no items: no --items, and no map.items in the configuration"),
                  "write muster map --items FILE -- CMD {item}");
}

// The first item with the key of an earlier one is named. Most maps need no second pass over their items.
Status ItemSource::CheckKeys(std::vector<uint64_t> hashes) const {
  std::ranges::sort(hashes);
  std::set<uint64_t> twice;
  for (auto hash = std::ranges::adjacent_find(hashes); hash != hashes.end();
       hash = std::adjacent_find(hash + 1, hashes.end()))
    twice.insert(*hash);
  std::map<std::string, uint64_t> first;
  for (uint64_t i = 0; !twice.empty() && i < size(); ++i) {
    MUSTER_TRY(const SourceItem item, Read(i));
    if (!twice.contains(std::hash<std::string>{}(item.key))) continue;
    const auto [known, is_new] = first.try_emplace(item.key, i);
    if (is_new) continue;
    return WithHint(Fail(Code::kConfiguration, "{}: the key {} a second time; the first is at {}", Where(i),
                         config::JsonQuoted(item.key), Where(known->second)),
                    "give each item a key of its own: the field key or id, else all fields together");
  }
  return {};
}

Status ItemSource::Survey(std::string_view class_field) {
  KeyDigest digest;
  NameCounter names;
  ClassNumbers numbers;
  std::vector<uint64_t> hashes;  // of keys
  if (size() > kMostItems) return Fail(Code::kConfiguration, "{}: more than {} items", Where(0), kMostItems);
  hashes.reserve(size());
  for (uint64_t i = 0; i < size(); ++i) {
    MUSTER_TRY(const SourceItem item, Read(i));
    if (item.key.empty()) return Fail(Code::kConfiguration, "{}: the item's key is empty", Where(i));
    digest.Add(item.key);
    names.Count(item);
    if (!class_field.empty()) {
      const std::string* name = Find(item.fields, class_field);
      if (name == nullptr) {
        return WithHint(Fail(Code::kConfiguration, "map.class is {}, but {} has no such field",
                             config::JsonQuoted(class_field), Where(i)),
                        "give every item this field");
      }
      classes_.push_back(numbers.Of(*name));
    }
    hashes.push_back(std::hash<std::string>{}(item.key));
  }
  MUSTER_CHECK(CheckKeys(std::move(hashes)));
  keys_ = digest.Finish();
  for (const std::string& name : names.order()) {
    const uint64_t leading = names.Leading(name);
    if (leading == size()) {
      names_.push_back(name);
    } else {
      partial_names_.push_back({name, leading});
    }
  }
  return {};
}

}  // namespace muster::map

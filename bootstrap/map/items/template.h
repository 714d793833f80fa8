// Texts of a map with placeholders for what differs from item to item: arguments, variables, paths. Pure.
//
//   {NAME}      a field of the item, else one of OwnNames
//   {{ and }}   braces
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/config/text/placeholders.h"
#include "bootstrap/map/items/item_source.h"
#include "comm/base/error.h"

namespace muster::map {

// The values of every item besides its fields. A field of the same name wins.
struct OwnName {
  std::string_view name;
  std::string_view means;
};
std::span<const OwnName> OwnNames();

// The values of OwnNames except item, index and key, which the item has itself.
using OwnValues = std::map<std::string, std::string, std::less<>>;

class ItemTemplate {
 public:
  // `what` is named in messages: "the command". With `dollar` also ${NAME}. Error: kConfiguration: a brace that is
  // part of no placeholder; a name that is not a field of every item and none of OwnNames, with the nearest.
  static Result<ItemTemplate> Parse(std::string_view what, std::string_view text, const ItemSource& items,
                                    bool dollar = false);

  std::string Fill(const SourceItem& item, const OwnValues& own) const;
  // Whether it is the same for every item.
  bool IsPlain() const;

 private:
  std::vector<config::TextPiece> pieces_;
};

// Each of these, with `what`.
Result<std::vector<ItemTemplate>> ParseTemplates(std::string_view what, const std::vector<std::string>& texts,
                                                 const ItemSource& items);
std::vector<std::string> FillAll(const std::vector<ItemTemplate>& templates, const SourceItem& item,
                                 const OwnValues& own);

}  // namespace muster::map

// The key of an item: its name in the journal, and that of its directory. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::map {

using ItemFields = std::vector<std::pair<std::string, std::string>>;  // name, text; in the order of writing

// Null: there is no such field.
const std::string* Find(const ItemFields& fields, std::string_view name);

// The field "key", else the field "id", else the one field "item", else all fields by name: "model=a,task=x";
// there % , = and control characters are written as %2C. A key of more than 512 bytes is cut, and ends with a
// digest of all of it. Two items with different fields have different keys.
std::string KeyOf(const ItemFields& fields);

// The key as the name of a file: letters, digits, "._-=,+@" and bytes beyond ASCII are themselves, all else is %2F; a
// name of more than 180 bytes is cut, and ends with a digest. Never empty, hidden or "journal"; different for
// different keys.
std::string DirectoryNameOf(std::string_view key);

}  // namespace muster::map

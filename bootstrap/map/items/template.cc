#include "bootstrap/map/items/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bootstrap/config/text/nearest.h"
#include "bootstrap/config/text/quote.h"

namespace muster::map {
namespace {

constexpr auto kOwnNames = std::to_array<OwnName>({
    {"item", "the item: a bare value, else an object of JSON with all fields"},
    {"index", "the item's number, from 0"},
    {"key", "the item's key in the journal"},
    {"dir", "the attempt's directory, which is the program's working directory"},
    {"pwd", "the working directory of muster itself"},
    {"attempt", "1 for the first attempt at this item"},
    {"slot", "which of the rank's slots, from 0"},
    {"rank", "the rank that works on the item"},
    {"local_rank", "that rank on its node"},
    {"node", "its node's name"},
    {"world_size", "the number of ranks"},
    {"local_world_size", "the number of ranks of that node"},
    {"node_rank", "the node's number, from 0"},
    {"num_nodes", "the number of nodes"},
    {"job_key", "the launch: `slurm:JOB.STEP:RESTART`"},
});

bool IsOwn(std::string_view name) {
  return std::ranges::find(kOwnNames, name, &OwnName::name) != kOwnNames.end();
}

// Lines of a text, or a list of values.
bool ArePlain(const ItemSource& items) {
  return items.partial_names().empty() && items.names() == std::vector<std::string>{"item"};
}

std::string Advice(const std::string& name, const ItemSource& items) {
  std::vector<std::string_view> names(items.names().begin(), items.names().end());
  for (const OwnName& own : kOwnNames) {
    if (std::ranges::find(names, own.name) == names.end()) names.push_back(own.name);
  }
  const std::string_view nearest = name.empty() ? "item" : config::Nearest(name, names);
  // {model} is nearer to {node} than a slip is.
  if (ArePlain(items) && !name.empty() && (nearest.empty() || config::EditDistance(name, nearest) > 1)) {
    return "the items are plain values, each of them {item}; a file .csv or .jsonl gives them named fields; "
           "write {{ "
           "for { itself";
  }
  if (!nearest.empty()) return fmt::format("did you mean {{{}}}? write {{{{ for {{ itself", nearest);
  return fmt::format("there are {}; write {{{{ for {{ itself", fmt::join(names, ", "));
}

Status CheckName(std::string_view what, const std::string& name, const ItemSource& items) {
  if (std::ranges::find(items.names(), name) != items.names().end()) return {};
  for (const ItemSource::PartialName& partial : items.partial_names()) {
    if (partial.name != name) continue;
    return WithHint(Fail(Code::kConfiguration, "{} has {{{}}}, but {} has no such field", what, name,
                         items.Where(partial.first_without)),
                    "give every item this field");
  }
  if (IsOwn(name)) return {};
  return WithHint(
      Fail(Code::kConfiguration, "{}: there is no {}", what, config::JsonQuoted(fmt::format("{{{}}}", name))),
      Advice(name, items));
}

}  // namespace

std::span<const OwnName> OwnNames() { return kOwnNames; }

Result<ItemTemplate> ItemTemplate::Parse(std::string_view what, std::string_view text,
                                         const ItemSource& items, bool dollar) {
  const auto style = dollar ? config::PlaceholderStyle::kBoth : config::PlaceholderStyle::kBraces;
  auto pieces = config::CutPlaceholders(text, style);
  if (!pieces) {
    Error error = std::move(pieces).error();
    error.message = fmt::format("{}: {}: {}", what, config::JsonQuoted(text), error.message);
    return Fail(std::move(error));
  }
  for (const config::TextPiece& piece : *pieces) {
    if (piece.named) MUSTER_CHECK(CheckName(what, piece.name, items));
  }
  ItemTemplate parsed;
  parsed.pieces_ = *std::move(pieces);
  return parsed;
}

std::string ItemTemplate::Fill(const SourceItem& item, const OwnValues& own) const {
  std::string filled;
  for (const config::TextPiece& piece : pieces_) {
    filled += piece.literal;
    if (!piece.named) continue;
    if (const std::string* field = Find(item.fields, piece.name)) {
      filled += *field;
    } else if (piece.name == "item") {
      filled += item.text;
    } else if (piece.name == "index") {
      filled += std::to_string(item.index);
    } else if (piece.name == "key") {
      filled += item.key;
    } else if (const auto found = own.find(piece.name); found != own.end()) {
      filled += found->second;
    }
  }
  return filled;
}

bool ItemTemplate::IsPlain() const { return std::ranges::none_of(pieces_, &config::TextPiece::named); }

Result<std::vector<ItemTemplate>> ParseTemplates(std::string_view what, const std::vector<std::string>& texts,
                                                 const ItemSource& items) {
  std::vector<ItemTemplate> templates;
  for (const std::string& text : texts) {
    MUSTER_TRY(ItemTemplate parsed, ItemTemplate::Parse(what, text, items));
    templates.push_back(std::move(parsed));
  }
  return templates;
}

std::vector<std::string> FillAll(const std::vector<ItemTemplate>& templates, const SourceItem& item,
                                 const OwnValues& own) {
  std::vector<std::string> texts;
  texts.reserve(templates.size());
  for (const ItemTemplate& one : templates) texts.push_back(one.Fill(item, own));
  return texts;
}

}  // namespace muster::map

#include "bootstrap/config/placeholders.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "bootstrap/config/nearest.h"
#include "bootstrap/config/quote.h"

namespace muster::config {
namespace {

constexpr auto kPlaceholders = std::to_array<Placeholder>({
    {"rank", "the rank: `RANK`"},
    {"world_size", "how many ranks: `WORLD_SIZE`"},
    {"local_rank", "the rank on its node: `LOCAL_RANK`"},
    {"local_world_size", "how many ranks its node has: `LOCAL_WORLD_SIZE`"},
    {"node_rank", "the node's number, from 0"},
    {"num_nodes", "how many nodes"},
    {"node", "the node's name"},
    {"master_addr", "`MASTER_ADDR`"},
    {"master_port", "`MASTER_PORT`"},
    {"job_key", "the launch: `slurm:JOB.STEP:RESTART`"},
});

constexpr std::string_view kOpen = "${";

struct Piece {
  std::string_view literal;              // as it is
  std::optional<std::string_view> name;  // then this placeholder
  bool closed = true;                    // it ends with a brace
};

// Takes the next piece off `text`.
Piece TakePiece(std::string_view& text) {
  const size_t open = text.find(kOpen);
  if (open == std::string_view::npos) return {std::exchange(text, {}), {}};
  Piece piece{text.substr(0, open), {}};
  if (open > 0 && text[open - 1] == '$') {
    text.remove_prefix(open + 1);  // of "$${" the first $ is in the literal already
    return piece;
  }
  text.remove_prefix(open + kOpen.size());
  const size_t close = text.find('}');
  piece.closed = close != std::string_view::npos;
  piece.name = text.substr(0, close);
  text.remove_prefix(piece.closed ? close + 1 : text.size());
  return piece;
}

bool IsKnown(std::string_view name) {
  return std::ranges::find(kPlaceholders, name, &Placeholder::name) != kPlaceholders.end();
}

std::string AllNames() {
  std::string names;
  for (const Placeholder& placeholder : kPlaceholders) {
    if (!names.empty()) names += ", ";
    names += placeholder.name;
  }
  return names;
}

std::string Advice(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Placeholder& placeholder : kPlaceholders) names.push_back(placeholder.name);
  const std::string_view nearest = Nearest(name, names);
  if (!nearest.empty()) return fmt::format("did you mean ${{{}}}? write $${{ for ${{ itself", nearest);
  return fmt::format("there are {}; write $${{ for ${{ itself", AllNames());
}

}  // namespace

std::span<const Placeholder> Placeholders() { return kPlaceholders; }

Status CheckPlaceholders(std::string_view text) {
  while (!text.empty()) {
    const Piece piece = TakePiece(text);
    if (!piece.name) continue;
    if (!piece.closed) {
      return WithHint(Fail(Code::kConfiguration, "{} has no closing brace",
                           JsonQuoted(fmt::format("${{{}", *piece.name))),
                      "write $${ for ${ itself");
    }
    if (IsKnown(*piece.name)) continue;
    return WithHint(
        Fail(Code::kConfiguration, "there is no {}", JsonQuoted(fmt::format("${{{}}}", *piece.name))),
        Advice(*piece.name));
  }
  return {};
}

std::string FillPlaceholders(std::string_view text,
                             const std::function<std::string(std::string_view name)>& value) {
  std::string filled;
  while (!text.empty()) {
    const Piece piece = TakePiece(text);
    filled += piece.literal;
    if (piece.name) filled += value(*piece.name);
  }
  return filled;
}

}  // namespace muster::config

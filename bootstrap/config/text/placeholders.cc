#include "bootstrap/config/text/placeholders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "bootstrap/config/text/nearest.h"
#include "bootstrap/config/text/quote.h"

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

// Cuts one text. Its state is what is left of it, and the piece in the making.
class Cutter {
 public:
  Cutter(std::string_view text, PlaceholderStyle style) : rest_(text), style_(style) {}

  Result<std::vector<TextPiece>> Run() {
    while (!rest_.empty()) MUSTER_CHECK(Step());
    if (!piece_.literal.empty()) pieces_.push_back(std::move(piece_));
    return std::move(pieces_);
  }

 private:
  Status Step() {
    const bool dollar = style_ != PlaceholderStyle::kBraces;
    const bool braces = style_ != PlaceholderStyle::kDollar;
    if (dollar && rest_.starts_with("$${")) {
      ++escaped_;
      return Literal("${", 3);
    }
    if (dollar && rest_.starts_with("${")) return Name("${", "write $${ for ${ itself");
    if (braces && rest_.starts_with("{{")) return Literal("{", 2);
    if (braces && rest_.starts_with("}}")) return Literal("}", 2);
    if (braces && rest_.starts_with("{")) return Name("{", "write {{ for { itself");
    if (braces && rest_.starts_with("}") && escaped_ == 0) {
      return WithHint(Fail(Code::kConfiguration, "a closing brace without an opening one"),
                      "write }} for } itself");
    }
    if (escaped_ > 0 && rest_.starts_with("}")) --escaped_;
    const size_t special = rest_.find_first_of("${}", 1);
    return Literal(rest_.substr(0, special), std::min(special, rest_.size()));
  }

  Status Literal(std::string_view literal, size_t taken) {
    piece_.literal += literal;
    rest_.remove_prefix(taken);
    return {};
  }

  Status Name(std::string_view open, std::string hint) {
    const size_t close = rest_.find('}');
    if (close == std::string_view::npos) {
      return WithHint(Fail(Code::kConfiguration, "{} has no closing brace", JsonQuoted(rest_)),
                      std::move(hint));
    }
    piece_.name = rest_.substr(open.size(), close - open.size());
    piece_.named = true;
    rest_.remove_prefix(close + 1);
    pieces_.push_back(std::exchange(piece_, {}));
    return {};
  }

  std::string_view rest_;
  PlaceholderStyle style_;
  int escaped_ = 0;  // ${ that are themselves and not closed yet
  TextPiece piece_;
  std::vector<TextPiece> pieces_;
};

bool IsKnown(std::string_view name) {
  return std::ranges::find(kPlaceholders, name, &Placeholder::name) != kPlaceholders.end();
}

std::string Advice(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Placeholder& placeholder : kPlaceholders) names.push_back(placeholder.name);
  const std::string_view nearest = Nearest(name, names);
  if (!nearest.empty()) return fmt::format("did you mean ${{{}}}? write $${{ for ${{ itself", nearest);
  return fmt::format("there are {}; write $${{ for ${{ itself", fmt::join(names, ", "));
}

}  // namespace

std::span<const Placeholder> Placeholders() { return kPlaceholders; }

Result<std::vector<TextPiece>> CutPlaceholders(std::string_view text, PlaceholderStyle style) {
  return Cutter(text, style).Run();
}

Status CheckPlaceholders(std::string_view text) {
  MUSTER_TRY(const std::vector<TextPiece> pieces, CutPlaceholders(text, PlaceholderStyle::kDollar));
  for (const TextPiece& piece : pieces) {
    if (!piece.named || IsKnown(piece.name)) continue;
    return WithHint(
        Fail(Code::kConfiguration, "there is no {}", JsonQuoted(fmt::format("${{{}}}", piece.name))),
        Advice(piece.name));
  }
  return {};
}

std::string FillPlaceholders(std::string_view text,
                             const std::function<std::string(std::string_view name)>& value) {
  const Result<std::vector<TextPiece>> pieces = CutPlaceholders(text, PlaceholderStyle::kDollar);
  if (!pieces) return std::string(text);
  std::string filled;
  for (const TextPiece& piece : *pieces) {
    filled += piece.literal;
    if (piece.named) filled += value(piece.name);
  }
  return filled;
}

}  // namespace muster::config

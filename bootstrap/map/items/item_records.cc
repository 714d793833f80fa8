// The records of files of items: JSON lines and CSV.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/items/item_file.h"

namespace muster::map {
namespace {

using nlohmann::json;

constexpr std::string_view kBlank = " \t\r\n";
constexpr const char* kZero = "text cannot hold a zero byte";

// As \u0000 in JSON: a program's argument would end there.
bool HasZero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

tl::unexpected<RecordFault> Wrong(size_t offset, std::string why) {
  return tl::unexpected(RecordFault{offset, std::move(why)});
}

// Over valid JSON text: the extents of its parts. A number keeps its spelling, 1e-5 or 0.10.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { SkipBlanks(); }

  size_t at() const { return at_; }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Take() {
    ++at_;
    SkipBlanks();
  }
  // A whole value, nested ones included.
  std::string_view TakeValue() {
    const size_t begin = at_;
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        SkipText();
      } else {
        depth += c == '{' || c == '[' ? 1 : 0;
        depth -= c == '}' || c == ']' ? 1 : 0;
        ++at_;
      }
      const char next = Peek();
      if (depth == 0 && (next == ',' || next == '}' || next == ']' || next == ':')) break;
    } while (at_ < text_.size());
    std::string_view value = text_.substr(begin, at_ - begin);
    value = value.substr(0, value.find_last_not_of(kBlank) + 1);
    SkipBlanks();
    return value;
  }

 private:
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlank, at_), text_.size()); }
  void SkipText() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\' ? 1 : 0;
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string TextOf(std::string_view value) {
  return value.starts_with('"') ? json::parse(value).get<std::string>() : std::string(value);
}

}  // namespace

RecordResult<ItemFields> ParseJsonRecord(std::string_view record) {
  try {
    [[maybe_unused]] const json none = json::parse(record, [](int, json::parse_event_t event, json&) {
      return event != json::parse_event_t::value;  // nothing is kept
    });
  } catch (const json::parse_error& broken) {
    std::string why =
        broken.what();  // "[json.exception.parse_error.101] parse error at line 1, column 5: ..."
    const size_t colon = why.find(": ");
    if (colon != std::string::npos) why.erase(0, colon + 2);
    return Wrong(broken.byte == 0 ? 0 : broken.byte - 1, "broken JSON: " + why);
  } catch (const json::out_of_range&) {
    return Wrong(0, "a number beyond 1.8e308; write it in quotes");
  }
  Scanner scanner(record);
  if (scanner.Peek() != '{') {
    if (scanner.Peek() == '[')
      return Wrong(scanner.at(), "an object, text or a number is expected, not a list");
    std::string text = TextOf(scanner.TakeValue());
    if (HasZero(text)) return Wrong(0, kZero);
    return ItemFields{{"item", std::move(text)}};
  }
  ItemFields fields;
  scanner.Take();
  while (scanner.Peek() == '"') {
    const size_t at = scanner.at();
    std::string name = TextOf(scanner.TakeValue());
    if (std::ranges::find(fields, name, &ItemFields::value_type::first) != fields.end())
      return Wrong(at, fmt::format("the field {} a second time", config::JsonQuoted(name)));
    if (HasZero(name)) return Wrong(at, kZero);
    scanner.Take();  // :
    const size_t value_at = scanner.at();
    std::string text = TextOf(scanner.TakeValue());
    if (HasZero(text)) return Wrong(value_at, kZero);
    fields.emplace_back(std::move(name), std::move(text));
    if (scanner.Peek() == ',') scanner.Take();
  }
  if (fields.empty()) return Wrong(0, "the object is empty");
  return fields;
}

RecordResult<std::vector<std::string>> ParseCsvRecord(std::string_view record) {
  std::vector<std::string> cells;
  size_t at = 0;
  for (bool more = true; more;) {
    std::string cell;
    if (at < record.size() && record[at] == '"') {
      const size_t open = at++;
      for (;; ++at) {
        const size_t quote = record.find('"', at);
        if (quote == std::string_view::npos) return Wrong(open, "this quote is never closed");
        cell += record.substr(at, quote - at);
        at = quote + 1;
        if (at >= record.size() || record[at] != '"') break;
        cell += '"';
      }
      if (at < record.size() && record[at] != ',')
        return Wrong(at, "a comma is expected after the closing quote");
    } else {
      const size_t end = std::min(record.find(',', at), record.size());
      cell = record.substr(at, end - at);
      if (const size_t quote = cell.find('"'); quote != std::string::npos)
        return Wrong(at + quote,
                     "a quote inside a field; write the whole field in quotes, and \"\" for a quote");
      at = end;
    }
    cells.push_back(std::move(cell));
    more = at < record.size();
    if (more) ++at;
  }
  return cells;
}

}  // namespace muster::map

// A file of items in each of its formats: accepted items have distinct keys, names of directories and no zero
// byte, and are written out and read back as the same.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "bootstrap/config/text/quote.h"
#include "bootstrap/map/items/item_file.h"
#include "comm/system/anonymous_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::fuzz {
namespace {

using map::ItemFields;

Result<std::unique_ptr<map::ItemSource>> Open(std::string_view text, const std::string& name) {
  Result<UniqueFd> file = MakeAnonymousFile(text.size());
  Require(file && pwrite(file->get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
          "a file is written");
  return map::ReadItemFile(*std::move(file), name);
}

std::string JsonLine(const ItemFields& fields) {
  if (fields.size() == 1 && fields.front().first == "item") return config::JsonQuoted(fields.front().second);
  std::string line;
  for (const auto& [name, text] : fields) {
    line +=
        fmt::format("{}{}:{}", line.empty() ? "{" : ",", config::JsonQuoted(name), config::JsonQuoted(text));
  }
  return line + "}";
}

void CheckFault(const map::RecordFault& fault, std::string_view record) {
  Require(fault.offset <= record.size() && !fault.why.empty(), "byte {} of {}: {}", fault.offset,
          record.size(), fault.why);
}

void CheckRecord(std::string_view record) {
  if (const auto fields = map::ParseJsonRecord(record)) {
    const auto again = map::ParseJsonRecord(JsonLine(*fields));
    Require(again && *again == *fields, "{} is read back", JsonLine(*fields));
  } else {
    CheckFault(fields.error(), record);
  }
  const auto cells = map::ParseCsvRecord(record);
  if (!cells) return CheckFault(cells.error(), record);
  std::string line;
  for (const std::string& cell : *cells) {
    line += line.empty() ? "\"" : ",\"";
    for (const char c : cell) line += c == '"' ? std::string(2, c) : std::string(1, c);
    line += '"';
  }
  const auto again = map::ParseCsvRecord(line);
  Require(again && *again == *cells, "{} is read back", line);
}

void CheckName(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= 255 && name.front() != '.' && name != "journal" &&
                     std::ranges::none_of(name, [](char c) { return c == '/' || (c >= 0 && c < ' '); });
  Require(plain, "{} is the name of a directory", config::JsonQuoted(name));
}

// The items as JSON lines.
std::string CheckItems(const map::ItemSource& items, const std::string& file) {
  std::string lines;
  std::set<std::string> keys;
  std::set<std::string> directories;
  Require(items.size() > 0, "there are items");
  for (uint64_t i = 0; i < items.size(); ++i) {
    const auto item = items.Read(i);
    Require(item.has_value(), "item {} is read a second time", i);
    Require(item->index == i && !item->fields.empty(), "item {} has fields", i);
    Require(keys.insert(item->key).second && !item->key.empty(), "the key of item {} is its own", i);
    const std::string directory = map::DirectoryNameOf(item->key);
    CheckName(directory);
    Require(directories.insert(directory).second, "the directory of item {} is its own", i);
    Require(items.Where(i).starts_with(file + ":"), "item {} is in {}", i, items.Where(i));
    for (const auto& [name, text] : item->fields) {
      Require(name.find('\0') == std::string::npos && text.find('\0') == std::string::npos,
              "item {} has no zero byte", i);
      Require(map::Find(item->fields, name) != nullptr, "item {} has its fields", i);
    }
    for (const std::string& name : items.names())
      Require(map::Find(item->fields, name) != nullptr, "item {} has {}", i, name);
    lines += JsonLine(item->fields) + "\n";
  }
  return lines;
}

void CheckFile(std::string_view text, const std::string& name) {
  const auto items = Open(text, name);
  if (!items) {
    const Error& error = items.error();
    Require(error.code == Code::kConfiguration && error.message.starts_with(name), "{}", error.message);
    return;
  }
  const std::string lines = CheckItems(**items, name);
  const auto again = Open(lines, "again.jsonl");
  Require(again.has_value(), "{} is read back", lines);
  Require((*again)->keys() == (*items)->keys() && CheckItems(**again, "again.jsonl") == lines,
          "{} is read back as the same", lines);
}

void FuzzOne(ByteView input) {
  CheckRecord(AsText(input));
  for (const char* name : {"items.jsonl", "items.csv", "items.txt"}) CheckFile(AsText(input), name);
}

std::vector<Bytes> Seeds() {
  return {ToBytes("{\"model\": \"a\", \"n\": 1e-5, \"nested\": {\"x\": [1, "
                  "\"]\"]}}\n\n{\"model\":\"b\",\"n\":0.10}\n"),
          ToBytes("\xef\xbb\xbf\"a\\u0041\"\r\n7\nnull\n \n\"\\ud83d\\ude00\"\n"),
          ToBytes("{\"id\": \"x\", \"a\": 1}\n{\"id\": \"x\"}\n"),
          ToBytes("key,prompt\na,\"two\nlines, \"\"quoted\"\"\"\r\nb,\n\n"),
          ToBytes("item\na\n\"\"\n"),
          ToBytes("model,task\na,x\na,x=y\n\"a,task=x\",y\n"),
          ToBytes("a b\n.hidden\n../x\njournal\n\xc3\xa9\n"),
          ToBytes("\"a\\u0000b\"\n{\"a\\u0000\": 1}\n{\"a\": 1e5000}\n")};
}

std::vector<std::string> Words() {
  return {"{\"",  "\": ", "\"",  "\"\"", ",",  "\n",  "\r\n", "\\u0000", "\\ud83d",      "[",  "]",      "}",
          "null", "true", "1e5", "item", "id", "key", "=",    "%2C",     "\xef\xbb\xbf", "\\", "journal"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz

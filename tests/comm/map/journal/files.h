// A journal in a directory of its own, and a writer on an event loop.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/map/journal/format.h"
#include "comm/map/journal/reader.h"
#include "comm/map/journal/writer.h"
#include "tests/comm/base/print_error.h"
#include "tests/comm/net/test_loop.h"

namespace muster::map {

inline Identity IdentityOf(uint64_t items, const std::string& work = "work") {
  Identity identity;
  identity.items = items;
  KeyDigest keys;
  for (uint64_t item = 0; item < items; ++item) keys.Add(std::to_string(item));
  identity.keys = keys.Finish();
  identity.work = DigestOf(AsBytes(work));
  identity.subject = work;
  return identity;
}

inline JournalOwner OwnerHere(const std::string& node = "gpu01") {
  return {node, getpid(), "slurm:12.0:0", "group"};
}

inline JournalRecord RecordOf(uint64_t item, const std::string& result, Ending ending = Ending::kCommitted) {
  const ByteView bytes = AsBytes(result);
  return {ending,
          item,
          std::to_string(item),
          3,
          "gpu02",
          1,
          std::chrono::milliseconds(1500),
          Format::kBytes,
          {bytes.begin(), bytes.end()}};
}

inline std::string ResultOf(const JournalRecord& record) { return std::string(AsText(record.payload)); }

class JournalFiles : public testing::Test {
 protected:
  JournalFiles() {
    std::string name = testing::TempDir() + "/journal.XXXXXX";
    folder_ = mkdtemp(name.data());
    path_ = folder_ + "/answers.journal";
  }
  ~JournalFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Result<JournalWriter::Opened> Open(const Identity& identity, const JournalOwner& owner = OwnerHere(),
                                     bool poisoned_again = false) {
    return JournalWriter::Open(path_, identity, owner, poisoned_again, loop_->mailbox());
  }
  // Appends them all, and waits: the error of each that has one.
  std::vector<std::optional<Error>> Append(JournalWriter& writer, const std::vector<JournalRecord>& records) {
    auto done = std::make_shared<std::vector<std::optional<Error>>>();
    for (const JournalRecord& record : records) {
      writer.Append(record, [done](const Status& status) {
        done->push_back(status ? std::nullopt : std::optional(status.error()));
      });
    }
    EXPECT_TRUE(loop_.Until([&] { return done->size() == records.size(); }));
    return *done;
  }
  // A run that commits these items.
  void Run(const Identity& identity, const std::vector<JournalRecord>& records, bool close = true) {
    auto opened = Open(identity);
    ASSERT_TRUE(opened) << ToString(opened.error());
    for (const auto& error : Append(*opened->writer, records)) EXPECT_FALSE(error);
    if (close) {
      EXPECT_TRUE(opened->writer->Close());
    }
  }

  std::string SegmentFile(int term) const { return path_ + fmt::format("/{:06}.segment", term); }
  Bytes ContentOf(int term) const {
    std::ifstream file(SegmentFile(term), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Replace(int term, ByteView bytes) const {
    // A later run has made it read-only; a stopped run still has it open.
    std::filesystem::permissions(SegmentFile(term), std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ofstream file(SegmentFile(term), std::ios::binary | std::ios::trunc);
    file << AsText(bytes);
    EXPECT_TRUE(file.flush());
  }
  void Flip(int term, uint64_t offset) const {
    Bytes bytes = ContentOf(term);
    bytes.at(offset) ^= 0x20;
    Replace(term, bytes);
  }
  SegmentHeader HeaderOf(int term) const {
    const UniqueFd fd(open(SegmentFile(term).c_str(), O_RDONLY));
    const auto start = ReadStart(fd.get(), "segment");
    EXPECT_TRUE(start && *start);
    return start && *start ? (*start)->found.header : SegmentHeader{};
  }

  net::TestLoop loop_;
  std::string folder_;
  std::string path_;
};

}  // namespace muster::map

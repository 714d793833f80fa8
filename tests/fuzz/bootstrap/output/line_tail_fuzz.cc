// The end of a program's stderr, in any content and any pieces; and /proc/PID/cgroup.
#include <algorithm>

#include "bootstrap/config/text/utf8.h"
#include "bootstrap/output/line_tail.h"
#include "bootstrap/process/signal_reach.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/value_source.h"

namespace muster::fuzz {
namespace {

void FuzzOne(ByteView input) {
  ValueSource source(input);
  const size_t piece = 1 + size_t{source.Byte()} * source.Byte();
  const size_t repeat = 1 + source.Below(40);
  const ByteView bytes = source.Rest();
  output::LineTail tail;
  for (size_t i = 0; i < repeat; ++i) {
    for (ByteView rest = bytes; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
      tail.Append(AsText(rest.first(std::min(piece, rest.size()))));
    }
  }
  const std::string text = tail.Text();
  // A byte may be shown as four characters.
  Require(text.size() <= 4 * output::LineTail::kMostBytes + 16, "{} bytes", text.size());
  Require(std::ranges::count(text, '\n') < static_cast<ptrdiff_t>(output::LineTail::kMostLines),
          "not too many lines");
  Require(config::FirstInvalidUtf8(text) == text.size(), "UTF-8");
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t'; };
  Require(std::ranges::none_of(text, control), "no control characters");

  Require(process::TrackingGroup(AsText(input)).size() <= input.size() + 1,
          "a part of the file, each line ended");
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const char* text : {"\x09\x09\x01line\nline 2\n", "\x03\x03\x05  0%\r 50%\r100%\nTraceback\n",
                           "\xff\xff\x28\x1b[31mred\xc3\xa9\xff\xf0\x9f\x98\x80\n", "\x01\x01\x01no end",
                           "8:freezer:/slurm/uid_0/job_7/step_0\n0::/\n",
                           "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"}) {
    seeds.push_back(ToBytes(text));
  }
  seeds.push_back(Bytes(6000, 'x'));
  return seeds;
}

std::vector<std::string> Words() {
  return {"\n",       "\r",   "\r\n",  "\x1b[", "\t", "\xc3\xa9", "\xf0\x9f\x98\x80",
          "freezer:", "0::/", "/job_", "/step_"};
}

}  // namespace

FuzzTarget TheTarget() { return {FuzzOne, Seeds, Words}; }

}  // namespace muster::fuzz

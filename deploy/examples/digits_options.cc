#include "deploy/examples/digits_options.h"

#include "comm/base/parse.h"

namespace muster::examples {
namespace {

// Keeps repetitions times rows far away from 2^64.
constexpr uint64_t kMaxRepeat = 1'000'000'000;
constexpr const char* kHint = "digits --help lists the options";

Status SetRepeat(DigitsOptions& options, std::string_view value) {
  const auto repeat = ParseInteger<uint64_t>(value);
  if (!repeat || *repeat == 0 || *repeat > kMaxRepeat) {
    return Fail(Code::kConfiguration, "--repeat takes a whole number from 1 to {}, not \"{}\"", kMaxRepeat,
                value);
  }
  options.repeat = *repeat;
  return {};
}

Status SetOption(DigitsOptions& options, std::string_view name, std::string_view value) {
  if (name == "--repeat") return SetRepeat(options, value);
  if (value.empty()) return WithHint(Fail(Code::kUsage, "{} needs a file name", name), kHint);
  if (name == "--data") {
    options.data = value;
  } else {
    options.predictions = value;
  }
  return {};
}

bool TakesValue(std::string_view name) {
  return name == "--data" || name == "--predictions" || name == "--repeat";
}

}  // namespace

Result<DigitsOptions> ParseDigitsOptions(std::span<const char* const> arguments) {
  DigitsOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (!TakesValue(name)) {
      return WithHint(Fail(Code::kUsage, "unknown argument \"{}\"", argument), kHint);
    } else if (equals != std::string_view::npos) {
      MUSTER_CHECK(SetOption(options, name, argument.substr(equals + 1)));
    } else if (i + 1 < arguments.size()) {
      MUSTER_CHECK(SetOption(options, name, arguments[++i]));
    } else {
      return WithHint(Fail(Code::kUsage, "{} needs a value", name), kHint);
    }
  }
  return options;
}

std::string_view DigitsHelp() {
  return R"(digits: how well does the nearest neighbour recognise handwritten digits?

Every image gets the label of the image it is nearest to, itself left out. The rows are shared by the ranks of the
launch that this program finds itself in; rank 0 prints who did what, and the accuracy.

  --data FILE         the images; default deploy/examples/data/digits.csv, from the repository's root
  --predictions FILE  rank 0 writes one predicted label a line there, in the order of the images
  --repeat N          evaluate N times, for a job that lasts; default 1
  --help              this text

  bazel-bin/bootstrap/cli/muster launch -n 4 -c configs/eval-digits.yaml
  srun -N 2 --ntasks-per-node=8 bazel-bin/deploy/examples/digits --predictions predictions.txt

muster's own configuration: MUSTER_CONFIG=FILE. Exit status: 0; 64 usage; 69 a rank was lost; 71 operating system;
75 time ran out; 76 ranks disagree, for example about the data; 78 bad data or a bad value.
)";
}

}  // namespace muster::examples

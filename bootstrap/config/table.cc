#include "bootstrap/config/table.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "bootstrap/config/nearest.h"

namespace muster {
namespace {

#define MUSTER_FIELD(member)                                                     \
  FieldOf<std::remove_reference_t<decltype((std::declval<Config&>().member))>> { \
    [](Config & config) -> auto& { return config.member; }                       \
    , [](const Config& config) -> auto& { return config.member; }                \
  }

using Words = std::array<std::string_view, 6>;
constexpr Words kBackends = {"auto", "nccl", "socket"};
constexpr Words kMethods = {"auto", "tcp", "pmix", "pmi", "torch-store", "file"};
constexpr Words kAuthMethods = {"auto", "munge", "secret", "none"};
constexpr Words kProtections = {"control", "all"};
constexpr Words kStores = {"program", "muster"};
constexpr Words kLogLevels = {"debug", "info", "warning", "error", "off"};
constexpr Words kLogFormats = {"text", "json"};

constexpr std::array<SpecialWord, 2> kSpecialBackends = {{
    {"gloo", "socket", "", ""},
    {"mpi", "", "muster brings its own collectives and does not go through MPI",
     "write socket or auto; an MPI program runs under `muster run` as it is"},
}};
constexpr std::array<SpecialWord, 1> kSpecialStores = {{
    {"muster", "", "this muster has no store of its own",
     "write program: the program's rank 0 binds MASTER_PORT"},
}};

constexpr std::span<const std::string_view> Choices(const Words& words) {
  size_t count = 0;
  while (count < words.size() && !words[count].empty()) ++count;
  return {words.data(), count};
}

constexpr bool kGroupWide = true;
constexpr bool kOwn = false;  // may differ from rank to rank

constexpr Key Choice(std::string_view path, Field field, bool group_wide, const Words& words,
                     std::string_view doc, std::span<const SpecialWord> special_words = {}) {
  return {path, field, group_wide, Choices(words), special_words, {}, doc};
}
constexpr Key Plain(std::string_view path, Field field, bool group_wide, std::string_view doc) {
  return {path, field, group_wide, {}, {}, {}, doc};
}
constexpr Key Time(std::string_view path, Field field, bool group_wide, Duration minimum,
                   std::string_view doc) {
  return {path, field, group_wide, {}, {}, minimum, doc};
}

// Below these a busy machine's scheduling alone would pass the limit.
constexpr Duration kShortestTimeout = std::chrono::milliseconds(1);
constexpr Duration kShortestHeartbeat = std::chrono::milliseconds(10);

constexpr auto kKeys = std::to_array<Key>({
    Plain("launcher", MUSTER_FIELD(launcher), kOwn,
          "what started this process: auto, a launcher's name, or none"),
    Choice("backend", MUSTER_FIELD(backend), kGroupWide, kBackends,
           "what carries collectives; auto: nccl where all ranks have a GPU, socket where none has",
           kSpecialBackends),

    Choice("rendezvous.method", MUSTER_FIELD(rendezvous.method), kGroupWide, kMethods,
           "how ranks find the root; auto: as fits the launcher"),
    Plain("rendezvous.endpoint", MUSTER_FIELD(rendezvous.endpoint), kGroupWide,
          "host:port where rank 0's node listens; null: found out"),
    Plain("rendezvous.ports", MUSTER_FIELD(rendezvous.ports), kGroupWide,
          "the ports that muster may listen on, first-last or one"),
    Plain("rendezvous.interface", MUSTER_FIELD(rendezvous.interface), kOwn,
          "addresses offered for data: a name (ib0), a glob (eth*) or a CIDR (10.1.0.0/16); null: chosen"),
    Choice("rendezvous.auth", MUSTER_FIELD(rendezvous.auth), kGroupWide, kAuthMethods,
           "how ranks prove who they are; auto: munge where it runs, else secret; none: not at all"),
    Choice("rendezvous.protect", MUSTER_FIELD(rendezvous.protect), kGroupWide, kProtections,
           "what is encrypted: control (the control plane) or all (data between nodes too)"),

    Time("timeouts.resolve", MUSTER_FIELD(timeouts.resolve), kGroupWide, kShortestTimeout,
         "finding out which rank this is"),
    Time("timeouts.rendezvous", MUSTER_FIELD(timeouts.rendezvous), kGroupWide, kShortestTimeout,
         "from the first rank's arrival to the complete roster"),
    Time("timeouts.handshake", MUSTER_FIELD(timeouts.handshake), kGroupWide, kShortestTimeout,
         "one new connection proving who it is"),
    Time("timeouts.connect", MUSTER_FIELD(timeouts.connect), kGroupWide, kShortestTimeout,
         "one connection between two ranks"),
    Time("timeouts.init", MUSTER_FIELD(timeouts.init), kGroupWide, kShortestTimeout,
         "the backend's start once the roster is complete"),
    Time("timeouts.collective", MUSTER_FIELD(timeouts.collective), kGroupWide, kShortestTimeout,
         "one collective; evaluation is uneven, so hours are normal and cost nothing: liveness finds dead "
         "ranks"),
    Time("timeouts.barrier", MUSTER_FIELD(timeouts.barrier), kGroupWide, kShortestTimeout, "one barrier"),
    Time("timeouts.shutdown", MUSTER_FIELD(timeouts.shutdown), kGroupWide, kShortestTimeout,
         "saying goodbye to the group"),

    Time("liveness.heartbeat", MUSTER_FIELD(liveness.heartbeat), kGroupWide, kShortestHeartbeat,
         "how often nodes say that they are alive"),
    Time("liveness.suspect_after", MUSTER_FIELD(liveness.suspect_after), kGroupWide, kShortestHeartbeat,
         "a node silent for so long is reported"),
    Time("liveness.dead_after", MUSTER_FIELD(liveness.dead_after), kGroupWide, kShortestHeartbeat,
         "a node silent for so long is lost and the group ends"),

    Plain("run.command", MUSTER_FIELD(run.command), kOwn,
          "the program and its arguments, where none follow --"),
    Plain("run.env", MUSTER_FIELD(run.env), kOwn, "variables added to the program's environment"),
    Time("run.grace", MUSTER_FIELD(run.grace), kOwn, Duration::zero(),
         "between SIGTERM and SIGKILL when the program must end"),
    Plain("run.stop_on_failure", MUSTER_FIELD(run.stop_on_failure), kGroupWide,
          "whether one failed rank ends the programs of all"),
    Choice("run.store", MUSTER_FIELD(run.store), kGroupWide, kStores,
           "who serves PyTorch's store; program: the program's rank 0", kSpecialStores),

    Choice("log.level", MUSTER_FIELD(log.level), kOwn, kLogLevels,
           "the least important message that is written"),
    Choice("log.format", MUSTER_FIELD(log.format), kOwn, kLogFormats,
           "one line of text or of JSON per message"),
    Plain("log.file", MUSTER_FIELD(log.file), kOwn, "where messages are appended; null: standard error"),
});
#undef MUSTER_FIELD

constexpr std::array<std::string_view, 5> kSections = {"rendezvous", "timeouts", "liveness", "run", "log"};

}  // namespace

std::span<const Key> Keys() { return kKeys; }

const Key* FindKey(std::string_view path) {
  const auto* found = std::ranges::find(kKeys, path, &Key::path);
  return found == kKeys.end() ? nullptr : found;
}

std::string_view SectionOf(std::string_view path) {
  const size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

std::string_view NameOf(std::string_view path) {
  const size_t dot = path.find('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::span<const std::string_view> Sections() { return kSections; }

bool IsSection(std::string_view name) { return std::ranges::find(kSections, name) != kSections.end(); }

std::string VariableName(const Key& key) {
  std::string name = "MUSTER_";
  for (const char c : key.path) {
    const bool lower = c >= 'a' && c <= 'z';
    name += lower ? static_cast<char>(c - 'a' + 'A') : '_';
  }
  return name;
}

std::string_view NearestKey(std::string_view unknown) {
  // The right name in the wrong section is a likelier slip than any spelling.
  for (const Key& key : kKeys) {
    if (NameOf(key.path) == NameOf(unknown)) return key.path;
  }
  std::vector<std::string_view> names(kSections.begin(), kSections.end());
  for (const Key& key : kKeys) names.push_back(key.path);
  return Nearest(unknown, names);
}

}  // namespace muster

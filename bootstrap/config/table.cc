#include "bootstrap/config/table.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "bootstrap/config/text/nearest.h"

namespace muster::config {
namespace {

#define MUSTER_FIELD(member)                                                     \
  FieldOf<std::remove_reference_t<decltype((std::declval<Config&>().member))>> { \
    [](Config & config) -> auto& { return config.member; }                       \
    , [](const Config& config) -> auto& { return config.member; }                \
  }

// The path and the field of a key whose names are the same.
#define MUSTER_KEY(path) #path, MUSTER_FIELD(path)

using Words = std::array<std::string_view, 6>;
constexpr Words kBackends = {"auto", "nccl", "socket"};
constexpr Words kMethods = {"auto", "tcp", "pmix", "pmi", "torch-store", "file"};
constexpr Words kAuthMethods = {"auto", "munge", "secret", "none"};
constexpr Words kProtections = {"control", "all"};
constexpr Words kNcclDebugs = {"version", "warn", "info", "trace"};
constexpr Words kStores = {"muster", "program"};
constexpr Words kInputs = {"auto", "rank0", "all", "none"};
constexpr Words kLogLevels = {"debug", "info", "warning", "error", "off"};
constexpr Words kLogFormats = {"text", "json"};
constexpr Words kLogTimes = {"auto", "short", "full", "none"};

constexpr std::array<SpecialWord, 2> kSpecialBackends = {{
    {"gloo", "socket", "", ""},
    {"mpi", "", "muster brings its own collectives and does not go through MPI",
     "write socket or auto; an MPI program runs under `muster run` as it is"},
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
    Plain(MUSTER_KEY(launcher), kOwn, "what started this process: auto, a launcher's name, or none"),
    Choice(MUSTER_KEY(backend), kGroupWide, kBackends,
           "what carries collectives; auto: nccl if all ranks have a GPU, socket if none has",
           kSpecialBackends),
    Plain(MUSTER_KEY(include), kOwn,
          "a file, or a list of files, whose values come first: those of later files win, and those of this "
          "file win over all; a relative path begins at this file's directory; in files only"),

    Choice(MUSTER_KEY(rendezvous.method), kGroupWide, kMethods,
           "how ranks find the root; auto: as fits the launcher"),
    Plain(MUSTER_KEY(rendezvous.endpoint), kGroupWide,
          "host:port on which rank 0's node listens; null: derived from the launcher"),
    Plain(MUSTER_KEY(rendezvous.ports), kGroupWide, "the ports that muster may listen on, first-last or one"),
    Plain(MUSTER_KEY(rendezvous.interface), kOwn,
          "addresses offered for data: a name (ib0), a glob (eth*) or a CIDR (10.1.0.0/16); null: chosen"),
    Plain(MUSTER_KEY(rendezvous.directory), kOwn,
          "a directory that all nodes share, in which the root publishes its address: for rendezvous.method: "
          "file"),
    Plain(MUSTER_KEY(rendezvous.slurm_helper), kOwn,
          "the program that queries Slurm for facts that the environment lacks; null: muster-slurm, beside "
          "muster or in PATH; none: Slurm is not queried"),
    Choice(MUSTER_KEY(rendezvous.auth), kGroupWide, kAuthMethods,
           "how ranks prove their identity; auto: munge if it runs, else secret; none: not at all"),
    Choice(MUSTER_KEY(rendezvous.protect), kGroupWide, kProtections,
           "what is encrypted: control (the control plane) or all (muster's data between nodes too; not what "
           "NCCL, Gloo or PyTorch send)"),

    Time(MUSTER_KEY(timeouts.resolve), kGroupWide, kShortestTimeout, "determining the rank of this process"),
    Time(MUSTER_KEY(timeouts.rendezvous), kGroupWide, kShortestTimeout,
         "from the first rank's arrival to the complete roster"),
    Time(MUSTER_KEY(timeouts.handshake), kGroupWide, kShortestTimeout,
         "the authentication of one new connection"),
    Time(MUSTER_KEY(timeouts.connect), kGroupWide, kShortestTimeout, "one connection between two ranks"),
    Time(MUSTER_KEY(timeouts.init), kGroupWide, kShortestTimeout,
         "the start of muster's backend once the roster is complete"),
    Time(MUSTER_KEY(timeouts.collective), kGroupWide, kShortestTimeout,
         "one collective of muster's own or of muster.torch; evaluation is uneven, so hours are normal and "
         "cost nothing: liveness finds dead ranks; what a program makes with PyTorch keeps its own timeout"),
    Time(MUSTER_KEY(timeouts.barrier), kGroupWide, kShortestTimeout, "one barrier of muster's own"),
    Time(MUSTER_KEY(timeouts.shutdown), kGroupWide, kShortestTimeout, "leaving the group"),
    Plain(MUSTER_KEY(timeouts.cap_at_job_end), kGroupWide,
          "whether no timeout reaches beyond the job's end, if the environment or muster-slurm has it"),

    Time(MUSTER_KEY(liveness.heartbeat), kGroupWide, kShortestHeartbeat,
         "the interval of heartbeats between nodes"),
    Time(MUSTER_KEY(liveness.suspect_after), kGroupWide, kShortestHeartbeat,
         "a node silent for this long is reported"),
    Time(MUSTER_KEY(liveness.dead_after), kGroupWide, kShortestHeartbeat,
         "a node silent for this long is lost, and the group ends"),
    Time(MUSTER_KEY(liveness.straggler_after), kGroupWide, Duration::zero(),
         "the log names the missing ranks of an operation that waits this long; 0: never"),

    Plain(MUSTER_KEY(nccl.share_device), kGroupWide,
          "whether two ranks of a node may use one GPU (NCCL_MULTI_RANK_GPU_ENABLE; NCCL 2.30.3 or newer)"),
    Plain(MUSTER_KEY(nccl.interface), kOwn,
          "the interface of NCCL's sockets (NCCL_SOCKET_IFNAME), written as rendezvous.interface; null: the "
          "same"),
    Choice(MUSTER_KEY(nccl.debug), kOwn, kNcclDebugs,
           "NCCL's log level (NCCL_DEBUG); lines of muster's own backend are in muster's log; other programs "
           "under run receive NCCL_DEBUG if this key is set"),
    Plain(MUSTER_KEY(nccl.algorithm), kGroupWide,
          "the algorithms that NCCL may choose (NCCL_ALGO); null: all"),
    Plain(MUSTER_KEY(nccl.protocol), kGroupWide,
          "the protocols that NCCL may choose (NCCL_PROTO); null: all"),
    Time(MUSTER_KEY(nccl.abort_timeout), kGroupWide, kShortestTimeout,
         "the limit for aborting NCCL when the group has failed; after it the process exits with 69"),

    Plain(MUSTER_KEY(run.command), kOwn, "the program and its arguments, if none follow --"),
    Plain(MUSTER_KEY(run.env), kOwn,
          "variables added to the program's environment; ${rank}, ${local_rank}, ${node} and the like differ "
          "from rank to rank"),
    Time(MUSTER_KEY(run.grace), kOwn, Duration::zero(),
         "the time for a program to exit: between SIGTERM and SIGKILL, and after Ctrl-C before SIGTERM"),
    Plain(MUSTER_KEY(run.stop_on_failure), kGroupWide,
          "whether one failed rank ends the programs of all ranks"),
    Choice(MUSTER_KEY(run.store), kGroupWide, kStores,
           "who serves PyTorch's store at MASTER_PORT: muster (for PyTorch 2.2 and later), or the program's "
           "rank 0, which binds it"),
    Choice("run.stdin", MUSTER_FIELD(run.input), kOwn, kInputs,
           "which ranks have the standard input of muster: rank0, all (a copy each) or none; auto: rank0 if "
           "this muster starts several ranks, else all"),
    Plain(MUSTER_KEY(run.label), kOwn, "whether each line of the program's output begins with its rank"),
    Plain(MUSTER_KEY(run.log_dir), kOwn,
          "a directory where the program's output is kept as well, a file for each rank and stream; null: "
          "none"),
    Plain(MUSTER_KEY(run.report), kOwn,
          "the file in which the root writes the report of the run: a page if its name ends in .html, else "
          "JSON; null: none"),
    Plain(MUSTER_KEY(run.expect), kGroupWide,
          "files that the programs write: each must exist, be written by this run and not be empty when all "
          "programs have exited with 0, else the exit status is 79; with * ? [] at least one; ${rank} and "
          "the like: one for each rank"),
    Plain(MUSTER_KEY(run.threads), kOwn,
          "OMP_NUM_THREADS, unless the environment sets it: auto (the usable CPUs divided by the ranks that "
          "share them, at most SLURM_CPUS_PER_TASK), a number, or none (not set)"),

    Plain(MUSTER_KEY(map.items), kOwn,
          "the items of `muster map`: a file (.jsonl, .csv, .txt), a list of values or of maps, or a map of "
          "lists, whose combinations are the items"),
    Plain("map.class", MUSTER_FIELD(map.item_class), kOwn,
          "the field of an item whose value is its class, for example model: near the job's end, no item is "
          "begun that takes longer than 95 of 100 items of its class; null: all items are one class"),
    Plain(MUSTER_KEY(map.command), kOwn,
          "the program for each item and its arguments, if none follow --; {NAME} is a field of the item"),
    Plain(MUSTER_KEY(map.output), kGroupWide,
          "the directory of the results, which all nodes share: a directory for each item; null: muster-map"),
    Plain(MUSTER_KEY(map.journal), kGroupWide,
          "the journal, from which a later run continues; null: the directory journal in map.output"),
    Plain(MUSTER_KEY(map.retries), kGroupWide,
          "further attempts at an item that failed, before it is given up"),
    Plain(MUSTER_KEY(map.retry_failed), kGroupWide,
          "whether the items that earlier runs of the journal gave up are attempted again"),
    Time(
        MUSTER_KEY(map.timeout), kGroupWide, kShortestTimeout,
        "the limit for one attempt: SIGTERM then, SIGKILL after run.grace, and the attempt has failed; null: "
        "none"),
    Plain(MUSTER_KEY(map.expect), kGroupWide,
          "files that each item's program writes into its directory: FILE exists and is not empty, "
          "FILE:JSON.PATH exists and is not null, else the attempt has failed"),
    Plain(
        MUSTER_KEY(map.slots), kOwn,
        "the items that a rank works on at a time: a number, or {count: N, gpus: K, cores: C} with GPUs and "
        "cores for each"),

    Choice(MUSTER_KEY(log.level), kOwn, kLogLevels, "the least important message that is written"),
    Choice(MUSTER_KEY(log.format), kOwn, kLogFormats, "one line of text or of JSON per message"),
    Choice(
        "log.time", MUSTER_FIELD(log_time), kOwn, kLogTimes,
        "the time in a line of text: short (HH:MM:SS), full (RFC 3339, milliseconds), none; auto: short on a "
        "terminal, else full"),
    Plain(MUSTER_KEY(log.file), kOwn, "the file to which messages are appended; null: standard error"),
});
#undef MUSTER_KEY
#undef MUSTER_FIELD

constexpr std::array<std::string_view, 7> kSections = {"rendezvous", "timeouts", "liveness", "nccl",
                                                       "run",        "map",      "log"};

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
  if (std::holds_alternative<FieldOf<Includes>>(key.field)) return "";
  std::string name = "MUSTER_";
  for (const char c : key.path) {
    const bool lower = c >= 'a' && c <= 'z';
    name += lower ? static_cast<char>(c - 'a' + 'A') : '_';
  }
  return name;
}

std::string_view NearestKey(std::string_view unknown) {
  // A section with one letter wrong: "timeout" is also the name of a key.
  for (const std::string_view section : kSections) {
    if (EditDistance(section, unknown) == 1) return section;
  }
  // The right name in the wrong section is a likelier slip than any spelling.
  for (const Key& key : kKeys) {
    if (NameOf(key.path) == NameOf(unknown)) return key.path;
  }
  std::vector<std::string_view> names(kSections.begin(), kSections.end());
  for (const Key& key : kKeys) names.push_back(key.path);
  return Nearest(unknown, names);
}

}  // namespace muster::config

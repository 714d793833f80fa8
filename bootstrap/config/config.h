// The configuration as a value (configs/REFERENCE.md). The YAML names are the field names; the defaults below
// are the documented ones, and table.h has the type, range and meaning of each key. LoadConfig (load.h) fills
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/deadline.h"
#include "comm/log/log.h"
#include "comm/log/log_time.h"
#include "comm/options.h"

namespace muster::config {

// Which process serves PyTorch's store: muster, or the program itself (rank 0 binds MASTER_PORT).
enum class RunStore : uint8_t { kMuster, kProgram };

// Which ranks have muster's standard input; kAuto: rank 0 if muster starts several ranks, else all.
enum class RunStdin : uint8_t { kAuto, kRank0, kAll, kNone };

// OMP_NUM_THREADS of a program: its share of the CPUs, not set, or a number.
struct RunThreads {
  enum class Choice : uint8_t { kAuto, kNone, kCount };
  Choice choice = Choice::kAuto;
  int count = 0;  // of kCount

  friend bool operator==(const RunThreads&, const RunThreads&) = default;
};

struct RunOptions {
  std::vector<std::string> command;        // argv; empty: CMD after -- is needed
  std::map<std::string, std::string> env;  // added to the program's environment
  Duration grace = std::chrono::seconds(10);
  bool stop_on_failure = true;
  RunStore store = RunStore::kMuster;
  bool label = false;                  // each line of output begins with its rank
  std::optional<std::string> log_dir;  // one file for each rank and stream
  std::optional<std::string> report;   // a file, written by the root
  RunStdin input = RunStdin::kAuto;    // run.stdin, which is a macro's name
  std::vector<std::string> expect;     // files that must be there at the end, with placeholders
  RunThreads threads;

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// The source of a map's items (bootstrap/map): nothing, a file, a list, or all combinations of some lists.
struct MapItems {
  using Fields = std::vector<std::pair<std::string, std::string>>;  // name, text; in the order of writing
  std::string file;
  std::vector<Fields> list;  // a bare value is the field "item"
  std::vector<std::pair<std::string, std::vector<std::string>>> product;

  bool empty() const { return file.empty() && list.empty() && product.empty(); }
  friend bool operator==(const MapItems&, const MapItems&) = default;
};

// How many items a rank works on at a time, and what each of them has to itself; 0: all of the rank's.
struct MapSlots {
  int count = 1;
  int gpus = 0;
  int cores = 0;

  friend bool operator==(const MapSlots&, const MapSlots&) = default;
};

struct MapOptions {
  MapItems items;
  std::optional<std::string> item_class;  // map.class, which is a keyword: a field of the items
  std::vector<std::string> command;       // argv with placeholders; empty: CMD after -- is needed
  std::optional<std::string> output;      // a directory; absent: muster-map
  std::optional<std::string> journal;     // absent: OUTPUT/journal
  int retries = 2;
  bool retry_failed = false;        // what earlier runs gave up
  std::optional<Duration> timeout;  // of one item
  std::vector<std::string> expect;  // FILE or FILE:JSON.PATH, with placeholders
  MapSlots slots;

  friend bool operator==(const MapOptions&, const MapOptions&) = default;
};

// Files whose values come before those of the file that names them. A configuration that was loaded has none left.
struct Includes {
  std::vector<std::string> files;

  friend bool operator==(const Includes&, const Includes&) = default;
};

struct Config {
  std::string launcher = "auto";  // auto, none or a launcher's name; bootstrap/resolve has the list
  Backend backend = Backend::kAuto;
  Includes include;
  RendezvousOptions rendezvous;
  TimeoutOptions timeouts;
  LivenessOptions liveness;
  NcclOptions nccl;
  RunOptions run;
  MapOptions map;
  LogOptions log;
  LogTime log_time = LogTime::kAuto;

  friend bool operator==(const Config&, const Config&) = default;
};

// A Config with the origin of every key's value.
struct EffectiveConfig {
  Config config;
  // By path, every key: "configs/eval.yaml:3:15", "MUSTER_TIMEOUTS_COLLECTIVE", "--set" or "default".
  std::map<std::string, std::string> origins;
  // Sentences for the log: a MUSTER_ variable that is no key but resembles one.
  std::vector<std::string> warnings;

  friend bool operator==(const EffectiveConfig&, const EffectiveConfig&) = default;
};

}  // namespace muster::config

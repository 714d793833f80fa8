// Every key of the configuration, declared once: the parser, `muster config`, the digest, the JSON Schema,
// the reference and configs/default.yaml all come from this table. Defaults are the initialisers in config.h
// and comm/options.h.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bootstrap/config/config.h"

namespace muster::config {

// The field of a Config for a key's value; the type of the field is the type of the key.
template <typename T>
struct FieldOf {
  T& (*in)(Config&);
  const T& (*of)(const Config&);
};
using Field =
    std::variant<FieldOf<std::string>, FieldOf<std::optional<std::string>>, FieldOf<std::optional<Endpoint>>,
                 FieldOf<PortRange>, FieldOf<Duration>, FieldOf<bool>, FieldOf<std::vector<std::string>>,
                 FieldOf<std::map<std::string, std::string>>, FieldOf<Backend>, FieldOf<RendezvousMethod>,
                 FieldOf<AuthMethod>, FieldOf<Protect>, FieldOf<NcclDebug>, FieldOf<RunStore>,
                 FieldOf<RunStdin>, FieldOf<RunThreads>, FieldOf<LogLevel>, FieldOf<LogFormat>,
                 FieldOf<LogTime>, FieldOf<int>, FieldOf<std::optional<Duration>>, FieldOf<MapItems>,
                 FieldOf<MapSlots>, FieldOf<Includes>>;

// A word beside a key's choices: another name for one of them, or one that is refused with a reason.
struct SpecialWord {
  std::string_view word;
  std::string_view means;    // the choice that it means; empty: refused
  std::string_view refusal;  // why; empty: accepted
  std::string_view advice;
};

struct Key {
  std::string_view path;  // "timeouts.collective"
  Field field;
  bool group_wide;                             // part of what all ranks must agree on
  std::span<const std::string_view> choices;   // enumerations: in the order of the enumerators
  std::span<const SpecialWord> special_words;  // beside the choices
  Duration minimum;                            // durations
  std::string_view doc;                        // one line
};

std::span<const Key> Keys();
const Key* FindKey(std::string_view path);

// "timeouts" for "timeouts.collective", "" for "launcher"; and the second part.
std::string_view SectionOf(std::string_view path);
std::string_view NameOf(std::string_view path);

// "rendezvous", "timeouts", ...: in the order of the table.
std::span<const std::string_view> Sections();
bool IsSection(std::string_view name);

// "MUSTER_TIMEOUTS_COLLECTIVE"; empty for include, which only files have.
std::string VariableName(const Key& key);

// The valid key (or section) nearest to `unknown`; empty if none is near.
std::string_view NearestKey(std::string_view unknown);

}  // namespace muster::config

#include "bootstrap/environment/tuple_reader.h"

#include "comm/base/parse.h"
#include "comm/loopback_name.h"

namespace muster {
namespace {

Status ReadField(const Environment& environment, std::string_view variable, std::string_view field,
                 std::optional<int>& value, Candidate& candidate) {
  if (variable.empty()) return {};
  MUSTER_TRY(value, environment.GetCount(variable));
  if (value) candidate.sources.push_back({std::string(field), std::string(variable)});
  return {};
}

tl::unexpected<Error> HalfPair(const Environment& environment, std::string_view set,
                               std::string_view missing) {
  return WithHint(Fail(Code::kBadEnvironment, "{}={} is set but {} is not: half a pair", set,
                       *environment.Get(set), missing),
                  fmt::format("set both or neither: unset {}, or force another launcher", set));
}

Status CheckInside(std::string_view index_variable, std::optional<int> index, std::string_view count_variable,
                   std::optional<int> count) {
  if (count && *count == 0) return Fail(Code::kBadEnvironment, "{}=0: there is at least one", count_variable);
  if (!index || !count || *index < *count) return {};
  return Fail(Code::kBadEnvironment, "{}={} is outside {}={}", index_variable, *index, count_variable,
              *count);
}

}  // namespace

bool HasNoPair(const Environment& environment, const TupleVariables& variables) {
  return !environment.Has(variables.rank) && !environment.Has(variables.world_size);
}

Result<Candidate> ReadTuple(std::string_view launcher, const Environment& environment,
                            const TupleVariables& variables) {
  Candidate candidate;
  candidate.tuple.launcher = launcher;
  std::optional<int> rank;
  std::optional<int> size;
  MUSTER_CHECK(ReadField(environment, variables.rank, "rank", rank, candidate));
  MUSTER_CHECK(ReadField(environment, variables.world_size, "world_size", size, candidate));
  if (!rank) return HalfPair(environment, variables.world_size, variables.rank);
  if (!size) return HalfPair(environment, variables.rank, variables.world_size);
  RankTuple& tuple = candidate.tuple;
  tuple.rank = *rank;
  tuple.world_size = *size;
  MUSTER_CHECK(ReadField(environment, variables.local_rank, "local_rank", tuple.local_rank, candidate));
  MUSTER_CHECK(ReadField(environment, variables.local_world_size, "local_world_size", tuple.local_world_size,
                         candidate));
  MUSTER_CHECK(ReadField(environment, variables.node_rank, "node_rank", tuple.node_rank, candidate));
  MUSTER_CHECK(ReadField(environment, variables.num_nodes, "num_nodes", tuple.num_nodes, candidate));
  MUSTER_CHECK(CheckBounds(tuple, variables));
  return candidate;
}

Probed ToProbed(Result<Candidate> candidate) {
  if (!candidate) return Malformed{std::move(candidate).error()};
  return *std::move(candidate);
}

Probed ProbeRow(const Environment& environment, const LauncherRow& row) {
  if (HasNoPair(environment, row.variables)) return Absent{fmt::format("no {}", row.variables.rank)};
  Result<Candidate> candidate = ReadTuple(row.name, environment, row.variables);
  if (!candidate) return Malformed{std::move(candidate).error()};
  ReadJobId(environment, {row.job_id}, *candidate);
  if (!row.node.empty()) ReadNode(environment, row.node, *candidate);
  return *std::move(candidate);
}

Probed ProbeTorchRow(const Environment& environment, const LauncherRow& row) {
  Probed probed = ProbeRow(environment, row);
  auto* candidate = std::get_if<Candidate>(&probed);
  if (candidate == nullptr) return probed;
  if (auto status = ReadMaster(environment, *candidate); !status) return Malformed{std::move(status).error()};
  return probed;
}

Incomplete NodeScoped(std::string claim, std::string hint) {
  return {{Code::kBadEnvironment, fmt::format("{}: a node, not a process's rank", claim), std::move(hint)},
          std::move(claim)};
}

Status CheckBounds(const RankTuple& tuple, const TupleVariables& variables) {
  MUSTER_CHECK(CheckInside(variables.rank, tuple.rank, variables.world_size, tuple.world_size));
  MUSTER_CHECK(CheckInside(variables.local_rank, tuple.local_rank, variables.local_world_size,
                           tuple.local_world_size));
  MUSTER_CHECK(CheckInside(variables.local_rank, tuple.local_rank, variables.world_size, tuple.world_size));
  MUSTER_CHECK(CheckInside(variables.node_rank, tuple.node_rank, variables.num_nodes, tuple.num_nodes));
  MUSTER_CHECK(CheckInside(variables.node_rank, tuple.node_rank, variables.world_size, tuple.world_size));
  if (tuple.local_world_size && *tuple.local_world_size > tuple.world_size) {
    return Fail(Code::kBadEnvironment, "{}={} is more than {}={}", variables.local_world_size,
                *tuple.local_world_size, variables.world_size, tuple.world_size);
  }
  if (tuple.num_nodes && *tuple.num_nodes > tuple.world_size) {
    return Fail(Code::kBadEnvironment, "{}={} is more than {}={}: a node without a rank", variables.num_nodes,
                *tuple.num_nodes, variables.world_size, tuple.world_size);
  }
  return {};
}

Result<std::optional<Endpoint>> ReadMaster(const Environment& environment) {
  const auto address = environment.Get("MASTER_ADDR");
  const auto port = environment.Get("MASTER_PORT");
  if (!address || !port || address->empty() || port->empty()) return std::nullopt;
  const auto number = ParseInteger<uint16_t>(*port);
  // As muster run itself sets it: if there are no peers, PyTorch takes any port.
  if (number == 0 && environment.Get("WORLD_SIZE") == "1") return std::nullopt;
  if (!number || *number == 0) {
    return Fail(Code::kBadEnvironment, "MASTER_PORT=\"{}\" is not a port from 1 to 65535", *port);
  }
  const bool in_brackets = address->size() > 2 && address->front() == '[' && address->back() == ']';
  return Endpoint{std::string(in_brackets ? address->substr(1, address->size() - 2) : *address), *number};
}

Status ReadMaster(const Environment& environment, Candidate& candidate) {
  MUSTER_TRY(candidate.tuple.master, ReadMaster(environment));
  if (candidate.tuple.master) candidate.sources.push_back({"master", "MASTER_ADDR, MASTER_PORT"});
  return {};
}

void ReadText(const Environment& environment, std::string_view variable, std::string_view field,
              std::optional<std::string>& value, Candidate& candidate) {
  const auto text = environment.Get(variable);
  if (!text || text->empty()) return;
  value = std::string(*text);
  candidate.sources.push_back({std::string(field), std::string(variable)});
}

void ReadNode(const Environment& environment, std::string_view variable, Candidate& candidate) {
  const std::string_view name = environment.Get(variable).value_or("localhost");
  if (IsLoopback(name) || IsAnyAddress(name)) return;
  ReadText(environment, variable, "node", candidate.tuple.node, candidate);
}

void ReadJobId(const Environment& environment, std::initializer_list<std::string_view> variables,
               Candidate& candidate) {
  RankTuple& tuple = candidate.tuple;
  std::optional<std::string> id;
  for (const std::string_view variable : variables) {
    if (!id && !variable.empty()) ReadText(environment, variable, "job.id", id, candidate);
  }
  tuple.job.id = id.value_or("");
  tuple.job.key = JobKey(tuple.launcher, tuple.job);
}

bool IsLoopback(std::string_view host) {
  return IsLoopbackName(host) || host == "::1" || host.starts_with("127.");
}

bool IsAnyAddress(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

std::string JobKey(std::string_view launcher, const JobIdentity& job) {
  std::string key = fmt::format("{}:{}", launcher, job.id.empty() ? "-" : job.id);
  if (!job.step.empty()) key += "." + job.step;
  return fmt::format("{}:{}", key, job.restart);
}

}  // namespace muster

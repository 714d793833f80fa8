#include "comm/log/log_json.h"

#include <fmt/chrono.h>

#include <nlohmann/json.hpp>

namespace muster {

std::string FormatTime(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     milliseconds);
}

std::string LogLineAsJson(std::chrono::system_clock::time_point time, std::string_view level,
                          std::string_view event, const LogSubject& subject, std::string_view message,
                          LogFields fields) {
  nlohmann::ordered_json line;
  line["time"] = FormatTime(time);
  line["level"] = level;
  line["event"] = event;
  if (subject.rank) line["rank"] = *subject.rank;
  if (subject.rank && subject.ranks > 1) line["ranks"] = subject.ranks;
  if (!subject.node.empty()) line["node"] = subject.node;
  if (!subject.job.empty()) line["job"] = subject.job;
  line["message"] = message;
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { line["fields"][std::string(field.name)] = value; },
               field.value.value());
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace muster

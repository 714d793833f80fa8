#include "bootstrap/cli/usage/habits.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "bootstrap/cli/usage/habit_table.h"
#include "comm/base/parse.h"

namespace muster::cli {
namespace {

constexpr std::string_view kPortOfTorchrun = "29500";  // its default for --master-port

// "-n4": a letter and a number.
bool IsAttached(std::string_view word) {
  return word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0 &&
         word.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

// "--nproc_per_node=4" -> "--nproc_per_node", "-n4" -> "-n"
std::string_view NameOf(std::string_view word) {
  return IsAttached(word) ? word.substr(0, 2) : word.substr(0, word.find('='));
}

std::string WithDashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

const Habit* Find(std::string_view name) {
  const std::string word = WithDashes(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  const auto found = std::ranges::find(Habits(), word, &Habit::word);
  return found == Habits().end() ? nullptr : &*found;
}

std::string Filled(std::string_view remedy, std::string_view value) {
  std::string text;
  for (size_t at = remedy.find("{}"); at != std::string_view::npos; at = remedy.find("{}")) {
    text.append(remedy.substr(0, at)).append(value.empty() ? "N" : value);
    remedy.remove_prefix(at + 2);
  }
  return text.append(remedy);
}

// torchrun runs its own interpreter.
std::string PythonIn(std::string_view path) {
  for (const std::string_view folder : Split(path, ':')) {
    if (!folder.empty() && access(fmt::format("{}/python", folder).c_str(), X_OK) == 0) return "python";
  }
  return "python3";
}

class Translation {
 public:
  Translation(const OwnOptions& own, const std::vector<std::string>& words, std::string_view path)
      : own_(own), words_(words), path_(path) {}

  Result<std::vector<std::string>> Run() {
    while (at_ < words_.size() && IsOption(words_[at_]) && words_[at_] != "--") TakeOption();
    AddEndpoint();
    if (!refusals_.empty()) return Fail(Code::kUsage, "{}", refusals_);
    AddProgram();
    return std::move(translated_);
  }

 private:
  void TakeOption() {
    const std::string& word = words_[at_++];
    const std::string_view name = NameOf(word);
    const std::string spelled = own_.takes_value(std::string(name)) ? std::string(name) : WithDashes(name);
    const Habit* habit = Find(name);
    if (const std::optional<bool> takes_value = own_.takes_value(spelled)) {
      if (*takes_value) return TakeOwn(spelled, Value(word));
      translated_.push_back(spelled + word.substr(name.size()));  // --label=false
    } else if (habit != nullptr && Of(*habit).meaning != Meaning::kNone) {
      TakeHabit(*habit, name, habit->takes_value ? Value(word) : std::nullopt);
    } else {
      translated_.push_back(word);
    }
  }

  // The text after "=" or of "-n4", else the next word.
  std::optional<std::string> Value(std::string_view word) {
    if (IsAttached(word)) return std::string(word.substr(2));
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos) return std::string(word.substr(equals + 1));
    if (at_ == words_.size() || words_[at_] == "--") return std::nullopt;
    return words_[at_++];
  }

  // torchrun takes a range of machines.
  void TakeOwn(const std::string& name, std::optional<std::string> value) {
    const size_t colon = name == "--nnodes" && value ? value->find(':') : std::string::npos;
    if (colon != std::string::npos) {
      const std::string most = value->substr(colon + 1);
      if (value->substr(0, colon) != most) {
        return Refuse(name, fmt::format("write --nnodes {}: the size of a group is fixed", most));
      }
      value = most;
    }
    translated_.push_back(name);
    if (value) translated_.push_back(*std::move(value));
  }

  void TakeHabit(const Habit& habit, std::string_view name, const std::optional<std::string>& value) {
    const Habit::Reading& reading = Of(habit);
    switch (reading.meaning) {
      case Meaning::kSame:
        translated_.emplace_back(reading.text);
        if (value) translated_.push_back(*value);
        break;
      case Meaning::kHolds:
        if (value && value->find('=') != std::string::npos) {
          Refuse(name,
                 fmt::format("write it in front of muster: env {} muster {} ...", *value, own_.command));
        }
        break;
      case Meaning::kAddress:
        address_ = value;
        break;
      case Meaning::kPort:
        port_ = value;
        break;
      case Meaning::kModule:
        module_ = true;
        break;
      case Meaning::kInstead:
        Refuse(name, Filled(reading.text, value.value_or("")));
        break;
      case Meaning::kNone:
        break;
    }
  }

  void AddEndpoint() {
    if (address_) {
      translated_.insert(
          translated_.end(),
          {"--endpoint", fmt::format("{}:{}", *address_, port_.value_or(std::string(kPortOfTorchrun)))});
    } else if (port_) {
      Refuse("--master-port",
             "leave it out: muster chooses a free port; on several machines: --endpoint HOST:PORT");
    }
  }

  void AddProgram() {
    if (at_ == words_.size()) return;
    if (words_[at_] == "--") translated_.push_back(words_[at_++]);
    if (module_) {
      if (translated_.empty() || translated_.back() != "--") translated_.emplace_back("--");
      translated_.insert(translated_.end(), {PythonIn(path_), "-u", "-m"});
    }
    translated_.insert(translated_.end(), words_.begin() + static_cast<ptrdiff_t>(at_), words_.end());
  }

  void Refuse(std::string_view name, std::string_view remedy) {
    refusals_ += fmt::format("{}muster {} has no option \"{}\" ({})", refusals_.empty() ? "" : "\n",
                             own_.command, name, remedy);
  }

  const Habit::Reading& Of(const Habit& habit) const {
    static constexpr Habit::Reading kNone;
    if (own_.command == "run") return habit.run;
    if (own_.command == "map" || own_.command == "check") return habit.member;
    return own_.command == "launch" ? habit.launch : kNone;
  }

  const OwnOptions& own_;
  const std::vector<std::string>& words_;
  const std::string_view path_;
  size_t at_ = 0;
  std::vector<std::string> translated_;
  std::optional<std::string> address_;
  std::optional<std::string> port_;
  bool module_ = false;
  std::string refusals_;
};

}  // namespace

bool IsOption(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

bool MayHaveHabits(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (IsOption(word) &&
        (NameOf(word).find('_') != std::string_view::npos || Find(NameOf(word)) != nullptr)) {
      return true;
    }
  }
  return false;
}

Result<std::vector<std::string>> TranslateHabits(const OwnOptions& own, const std::vector<std::string>& words,
                                                 std::string_view path) {
  return Translation(own, words, path).Run();
}

}  // namespace muster::cli

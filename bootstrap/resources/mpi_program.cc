#include "bootstrap/resources/mpi_program.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bootstrap/process/exec_child.h"
#include "bootstrap/resources/elf_needed.h"
#include "comm/base/parse.h"
#include "comm/log/log.h"

namespace muster {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

constexpr size_t kArgumentsLookedAt = 8;
constexpr size_t kBytesLookedAt = size_t{256} << 10;

// libmpi.so.40, libmpich.so.12, libmpi_cray.so.12; not libmpifort alone, nor libmpicommon.
bool IsMpi(std::string_view library) {
  for (const std::string_view name : {"libmpi.so", "libmpich.so", "libmpi_", "libmpich_", "libmpicxx.so"}) {
    if (library.starts_with(name)) return true;
  }
  return false;
}

std::optional<std::string> LinkedMpi(const std::string& program, const Variables& environment) {
  const auto path = environment.find("PATH");
  std::vector<std::string> search;
  if (path != environment.end()) search.push_back("PATH=" + path->second);
  for (const std::string& file : process::ExecCandidates(program, search)) {
    if (access(file.c_str(), X_OK) != 0) continue;
    const std::vector<std::string> libraries = NeededLibrariesOf(file);
    const auto found = std::ranges::find_if(libraries, IsMpi);
    return found == libraries.end() ? std::nullopt : std::optional(*found);
  }
  return std::nullopt;
}

// "import mpi4py", "from mpi4py import MPI", at any depth of indentation.
bool IsImport(std::string_view line) {
  line = Trim(line);
  for (const std::string_view statement : {"import mpi4py", "from mpi4py"}) {
    if (!line.starts_with(statement)) continue;
    const std::string_view rest = line.substr(statement.size());
    if (rest.empty() || rest.find_first_of(" .,;") == 0) return true;
  }
  return false;
}

bool ImportsMpi4py(const std::string& path) {
  std::error_code error;
  if (!path.ends_with(".py") || !std::filesystem::is_regular_file(path, error)) return false;
  std::string text(kBytesLookedAt, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  const auto lines = Split(text, '\n');
  return std::ranges::any_of(lines, IsImport);
}

}  // namespace

std::optional<std::string> MpiIn(const std::vector<std::string>& command, const Variables& environment) {
  if (command.empty()) return std::nullopt;
  if (auto library = LinkedMpi(command.front(), environment)) return library;
  for (size_t i = 0; i < std::min(command.size(), kArgumentsLookedAt); ++i) {
    if (command[i] == "mpi4py" && i > 0 && command[i - 1] == "-m") return "-m mpi4py";
    if (ImportsMpi4py(command[i])) return "mpi4py in " + command[i];
  }
  return std::nullopt;
}

void WarnOfMpi(const std::vector<std::string>& command, const Variables& environment, int ranks) {
  if (ranks < 2) return;
  const auto mpi = MpiIn(command, environment);
  if (!mpi) return;
  LogWarning(
      "{} is an MPI program ({}): each of the {} ranks that this muster starts becomes an MPI world of one, "
      "or "
      "fails in MPI_Init (start one task for each rank: srun --mpi=pmix -n {} muster run -- ..., or mpirun)",
      command.front(), *mpi, ranks, ranks);
}

}  // namespace muster

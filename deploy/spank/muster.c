/* SPANK plug-in: `srun --muster[=CONFIG] CMD...` starts each task as `muster run [-c CONFIG] -- CMD...`. For the
   administrator: README.md. spank(8), Slurm 23.11 and later (spank_prepend_task_argv). */
#define _GNU_SOURCE /* strsep */
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#error "This needs Slurm 23.11 or later: spank_prepend_task_argv"
#endif

SPANK_PLUGIN(muster, 1)

enum { kOptionalArgument = 2 };

static int asked = 0;
static char config[PATH_MAX];
/* muster=PATH of plugstack.conf; empty: found in the task's PATH. */
static char program[PATH_MAX];

static int TakeOption(int value, const char* argument, int remote) {
  (void)value;
  (void)remote;
  asked = 1;
  config[0] = '\0';
  /* Without a value Slurm passes null here, and on the node what it wrote for null. */
  if (argument == NULL || strcmp(argument, "(null)") == 0) return 0;
  if (strlen(argument) >= sizeof config) {
    slurm_error("--muster: the name of the configuration is too long");
    return -1;
  }
  strcpy(config, argument);
  return 0;
}

static struct spank_option option = {
    (char*)"muster",
    (char*)"[CONFIG]",
    (char*)"start each task as: muster run [-c CONFIG] -- CMD...",
    kOptionalArgument,
    0,
    TakeOption,
};

static int ReadArguments(int count, char** arguments) {
  for (int i = 0; i < count; ++i) {
    const char* value = arguments[i] + strlen("muster=");
    if (strncmp(arguments[i], "muster=/", strlen("muster=/")) != 0 || strlen(value) >= sizeof program) {
      slurm_error("muster: plugstack.conf: \"%s\" is not muster=/PATH/OF/muster", arguments[i]);
      return -1;
    }
    strcpy(program, value);
  }
  return 0;
}

/* Not in sbatch and salloc: there it would mean the batch script. */
int slurm_spank_init(spank_t spank, int count, char** arguments) {
  const spank_context_t context = spank_context();
  if (context != S_CTX_LOCAL && context != S_CTX_REMOTE) return 0;
  if (ReadArguments(count, arguments) != 0) return -1;
  return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static int IsProgram(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* In the absolute directories of the task's PATH; null: nowhere. */
static const char* FindInPath(spank_t spank) {
  static char path[1 << 16];
  static char found[PATH_MAX];
  const spank_err_t outcome = spank_getenv(spank, "PATH", path, sizeof path);
  if (outcome == ESPANK_NOSPACE) slurm_error("--muster: PATH has more than %zu bytes", sizeof path);
  if (outcome != ESPANK_SUCCESS) return NULL;
  char* rest = path;
  for (char* directory = strsep(&rest, ":"); directory != NULL; directory = strsep(&rest, ":")) {
    const int length = snprintf(found, sizeof found, "%s/muster", directory);
    if (directory[0] == '/' && length < (int)sizeof found && IsProgram(found)) return found;
  }
  return NULL;
}

static const char* FindProgram(spank_t spank) {
  if (program[0] == '\0') {
    const char* found = FindInPath(spank);
    if (found == NULL) slurm_error("--muster: no program muster in PATH on this node");
    return found;
  }
  if (IsProgram(program)) return program;
  slurm_error("--muster: %s, as plugstack.conf has it, is no program on this node", program);
  return NULL;
}

/* In the process that becomes the task, as its user. */
int slurm_spank_task_init(spank_t spank, int count, char** arguments) {
  (void)count;
  (void)arguments;
  if (!asked) return 0;
  const char* words[5] = {FindProgram(spank), "run"};
  if (words[0] == NULL) return -1;
  int used = 2;
  if (config[0] != '\0') {
    words[used++] = "-c";
    words[used++] = config;
  }
  words[used++] = "--";
  if (spank_prepend_task_argv(spank, used, words) != ESPANK_SUCCESS) {
    slurm_error("--muster: Slurm does not let the command be changed");
    return -1;
  }
  return 0;
}

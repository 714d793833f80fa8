/* Errors of a program: every mistake is an error with its code and sentence, and breaks nothing. In
 * a world of one; no launcher must have started this. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/c/muster.h"

static int failures = 0;

static void expect_true(int line, const char* what, int holds) {
  if (holds) return;
  fprintf(stderr, "line %d: not so: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect_true(__LINE__, #condition, (condition) ? 1 : 0)

static void expect_error(int line, muster_error* error, int code, const char* message) {
  if (muster_error_code(error) != code || strcmp(muster_error_message(error), message) != 0) {
    fprintf(stderr, "line %d: got %s '%s', not %s '%s'\n", line, muster_code_name(muster_error_code(error)),
            muster_error_message(error), muster_code_name(code), message);
    ++failures;
  }
  muster_error_free(error);
}
#define EXPECT_ERROR(error, code, message) expect_error(__LINE__, error, code, message)
#define EXPECT_OK(error) expect_error(__LINE__, error, MUSTER_OK, "")

static const int64_t kDefault = MUSTER_TIMEOUT_DEFAULT;

static void names(void) {
  const char* const expected[] = {
      "ok",       "usage",        "not_launched",   "bad_environment", "peer_lost",   "internal", "system",
      "deadline", "disagreement", "authentication", "configuration",   "work_failed", "unknown"};
  const int statuses[] = {0, 64, 64, 65, 69, 70, 71, 75, 76, 77, 78, 79, 70};
  for (int code = MUSTER_OK; code <= MUSTER_WORK_FAILED + 1; ++code) {
    EXPECT(strcmp(muster_code_name(code), expected[code]) == 0);
    EXPECT(muster_exit_status(code) == statuses[code]);
  }
  EXPECT(strcmp(muster_code_name(-1), "unknown") == 0);
  EXPECT(muster_abi_version() == MUSTER_ABI_VERSION);
  EXPECT(strlen(muster_version()) > 0);
  EXPECT(muster_error_code(NULL) == MUSTER_OK);
  EXPECT(strcmp(muster_error_message(NULL), "") == 0);
  EXPECT(strcmp(muster_error_hint(NULL), "") == 0);
  muster_error_free(NULL);
}

static void before_init(void) {
  muster_comm* comm = NULL;
  char expected[200];
  EXPECT(muster_rank(NULL) == -1);
  EXPECT(muster_launcher() == NULL);
  EXPECT(muster_job_key() == NULL);
  EXPECT(muster_collective_timeout_ns() == -1);
  muster_abandon("gave up");
  EXPECT_OK(muster_shutdown());
  EXPECT_ERROR(muster_barrier(NULL, kDefault), MUSTER_USAGE, "the communicator is null");
  EXPECT_ERROR(muster_init(MUSTER_ABI_VERSION, NULL, NULL), MUSTER_USAGE, "muster_init: world is null");
  snprintf(expected, sizeof expected,
           "this program was made for version %d of muster's C interface, and this libmuster.so (%s) has "
           "version %d",
           MUSTER_ABI_VERSION + 1, muster_version(), MUSTER_ABI_VERSION);
  EXPECT_ERROR(muster_init(MUSTER_ABI_VERSION + 1, NULL, &comm), MUSTER_USAGE, expected);
  EXPECT(comm == NULL);

  const char* const settings[] = {"timeouts.colective=1h"};
  const muster_options options = {NULL, settings, 1};
  EXPECT_ERROR(muster_init(MUSTER_ABI_VERSION, &options, &comm), MUSTER_CONFIGURATION,
               "--set: unknown key \"timeouts.colective\"; did you mean \"timeouts.collective\"?");
  EXPECT(comm == NULL);
}

static muster_comm* start(void) {
  const char* const settings[] = {"timeouts.collective=2h", "log.level=error"};
  const muster_options options = {NULL, settings, 2};
  muster_comm* comm = NULL;
  muster_comm* again = NULL;
  EXPECT_OK(muster_init(MUSTER_ABI_VERSION, &options, &comm));
  EXPECT_OK(muster_init(MUSTER_ABI_VERSION, &options, &again));
  EXPECT(comm != NULL && again == comm);
  EXPECT_ERROR(muster_init(MUSTER_ABI_VERSION, NULL, &again), MUSTER_CONFIGURATION,
               "a second muster::Init has another configuration than the first");
  EXPECT(muster_collective_timeout_ns() == (int64_t)7200 * 1000000000);
  EXPECT(strcmp(muster_launcher(), "none") == 0);
  return comm;
}

static void facts(const muster_comm* comm) {
  EXPECT(muster_rank(comm) == 0 && muster_size(comm) == 1);
  EXPECT(muster_local_rank(comm) == 0 && muster_local_size(comm) == 1);
  EXPECT(muster_node_rank(comm) == 0 && muster_num_nodes(comm) == 1);
  EXPECT(muster_node_of(comm, 0) == 0 && muster_node_of(comm, 1) == -1 && muster_node_of(comm, -1) == -1);
  EXPECT(strlen(muster_node_name(comm, 0)) > 0);
  EXPECT(muster_node_name(comm, 1) == NULL && muster_node_name(comm, -1) == NULL);
  EXPECT(muster_node_address(comm, 0, 0) == NULL && muster_node_address(comm, 0, -1) == NULL);
  EXPECT(strcmp(muster_group_id(comm), "") == 0);
}

static void arguments(muster_comm* comm) {
  int32_t one = 1;
  EXPECT_ERROR(muster_all_reduce(comm, &one, &one, 1, (muster_type)42, MUSTER_SUM, kDefault), MUSTER_USAGE,
               "42 is no muster_type");
  EXPECT_ERROR(muster_all_reduce(comm, &one, &one, 1, MUSTER_I32, (muster_operation)9, kDefault),
               MUSTER_USAGE, "9 is no muster_operation");
  EXPECT_ERROR(muster_all_reduce(comm, NULL, &one, 1, MUSTER_I32, MUSTER_SUM, kDefault), MUSTER_USAGE,
               "AllReduce: send is null and should have 1 elements");
  EXPECT_ERROR(muster_all_gather(comm, &one, &one, SIZE_MAX / 2, MUSTER_I32, kDefault), MUSTER_USAGE,
               "1 ranks cannot have 9223372036854775807 elements each");
  EXPECT_ERROR(muster_broadcast(comm, &one, 1, MUSTER_I32, 1, kDefault), MUSTER_USAGE,
               "Broadcast: root 1 is not one of the 1 ranks 0-0");
  EXPECT_ERROR(muster_barrier(comm, 0), MUSTER_USAGE, "Barrier: the timeout must be more than 0");
  EXPECT_ERROR(muster_send(comm, &one, 1, MUSTER_I32, 0, kDefault), MUSTER_USAGE,
               "Send: rank 0 is this rank itself");
  EXPECT_OK(muster_all_reduce(comm, NULL, NULL, 0, MUSTER_F64, MUSTER_AVG, kDefault));
  EXPECT_OK(muster_barrier(comm, 1));
}

static void byte_strings(muster_comm* comm) {
  muster_parts* parts = NULL;
  EXPECT_ERROR(muster_all_gather_bytes(comm, "abc", 3, kDefault, NULL), MUSTER_USAGE, "parts is null");
  EXPECT_ERROR(muster_all_gather_bytes(comm, NULL, 3, kDefault, &parts), MUSTER_USAGE,
               "data is null and should have 3 bytes");
  EXPECT(parts == NULL);
  EXPECT_OK(muster_all_gather_bytes(comm, "abc", 3, kDefault, &parts));
  EXPECT(muster_parts_count(parts) == 1 && muster_parts_size(parts, 0) == 3);
  EXPECT(memcmp(muster_parts_data(parts, 0), "abc", 3) == 0);
  EXPECT(muster_parts_size(parts, 1) == 0 && muster_parts_data(parts, 1) == NULL);
  muster_parts_free(parts);
  EXPECT(muster_parts_count(NULL) == 0 && muster_parts_data(NULL, 0) == NULL);
  muster_parts_free(NULL);
}

/* log.level is error: of these, two lines are written. */
static void logged(void) {
  muster_log(MUSTER_LOG_WARNING, "below the level");
  muster_log(MUSTER_LOG_ERROR, "a line");
  muster_log((muster_log_level)42, NULL);
}

static void forked(muster_comm* comm, muster_comm* part) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    char expected[200];
    muster_comm* again = NULL;
    failures = 0;
    snprintf(expected, sizeof expected, "a communicator in a forked child: it belongs to the parent, pid %d",
             parent);
    EXPECT_ERROR(muster_barrier(comm, kDefault), MUSTER_USAGE, expected);
    snprintf(expected, sizeof expected,
             "muster::Init in a forked child: its group belongs to the parent, pid %d", parent);
    EXPECT_ERROR(muster_init(MUSTER_ABI_VERSION, NULL, &again), MUSTER_USAGE, expected);
    EXPECT(muster_rank(comm) == -1);
    muster_log(MUSTER_LOG_ERROR, "of a forked child");
    EXPECT_OK(muster_shutdown());
    muster_comm_free(part);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void after_shutdown(muster_comm* comm, muster_comm* part) {
  EXPECT_OK(muster_shutdown());
  const char* const gone = "the communicator no longer exists: muster was shut down";
  EXPECT_ERROR(muster_barrier(comm, kDefault), MUSTER_USAGE, gone);
  EXPECT_ERROR(muster_barrier(part, kDefault), MUSTER_USAGE, gone);
  EXPECT(muster_rank(comm) == -1 && muster_size(part) == -1 && muster_group_id(comm) == NULL);
  muster_comm_free(part);
  muster_comm_free(comm);
  EXPECT_OK(muster_shutdown());
}

int main(void) {
  names();
  before_init();
  muster_comm* comm = start();
  facts(comm);
  arguments(comm);
  byte_strings(comm);
  logged();
  muster_comm* part = NULL;
  EXPECT_ERROR(muster_split(comm, 0, 0, kDefault, NULL), MUSTER_USAGE, "muster_split: part is null");
  EXPECT_OK(muster_split(comm, 0, 0, kDefault, &part));
  EXPECT_OK(muster_barrier(part, kDefault));
  muster_comm_free(comm); /* the world is muster's: nothing */
  muster_comm_free(NULL);
  forked(comm, part);
  after_shutdown(comm, part);
  return failures == 0 ? 0 : 1;
}

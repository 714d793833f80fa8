/* muster for C, and for whatever can call C: N processes of a launch as one group that computes together.
 *
 *   muster_comm* world;
 *   muster_error* error = muster_init(MUSTER_ABI_VERSION, NULL, &world);
 *   if (error == NULL) error = muster_barrier(world, MUSTER_TIMEOUT_DEFAULT);
 *   if (error == NULL) error = muster_shutdown();
 *   if (error != NULL) {
 *     fprintf(stderr, "%s (%s)\n", muster_error_message(error), muster_error_hint(error));
 *     return muster_exit_status(muster_error_code(error));
 *   }
 *
 * runs under srun, torchrun, mpirun, `muster run`, `muster launch`, or on its own (a world of one, at no
 * cost). Link with -lmuster, or dlopen libmuster.so: it exports the names below and nothing else, and needs
 * libc alone.
 *
 * Errors. A function that can fail returns NULL, or an error: a code, one sentence that names its subject
 * (rank, node, variable, path, timeout), and what to do about it. The error is the caller's:
 * muster_error_free. The object that the call should have made is then NULL. Nothing is thrown, nothing is printed but
 * muster's log (configuration: log), and nothing ends the process. After any error but MUSTER_USAGE from a call on a
 * communicator that communicator is broken: every later call returns the first error.
 *
 * Ownership. Buffers stay the caller's and may be used again when the call returns. The world belongs to
 * muster, until muster_shutdown; a communicator of muster_split is the caller's: muster_comm_free. A string about a
 * communicator lives until that is freed, at most until muster_shutdown. One about the process lives until
 * muster_shutdown, names of codes and versions for ever.
 *
 * Threads. One call at a time on one communicator, else MUSTER_USAGE; muster_send and muster_recv with different
 * peers may run beside it. Communicators are independent of each other. muster_init and muster_shutdown: one
 * thread. The functions that only return facts may be called from any thread, and muster_abandon may be called
 * while other calls wait. Facts of the process wait while muster_init or muster_shutdown runs.
 *
 * Blocking. Every call on a communicator waits until this rank's part is done, a peer is lost, ranks turn out
 * to disagree, or its timeout passes. Timeouts are nanoseconds; MUSTER_TIMEOUT_DEFAULT (anything below 0) is
 * that of the configuration: timeouts.barrier for muster_barrier, timeouts.collective for the rest; 0 is
 * MUSTER_USAGE. No call waits beyond the job's end, if that is known and still ahead (timeouts.cap_at_job_end). A
 * signal does not end a wait.
 *
 * Codes of a call on a communicator:
 *
 *   MUSTER_USAGE           an argument, a timeout of 0, a second call at the same time, a forked child; found before
 *                          anything is sent, on this rank alone
 *   MUSTER_DEADLINE        the time is over; the message names the ranks that the call waits for
 *   MUSTER_PEER_LOST       a rank has ended, left the group or fallen silent
 *   MUSTER_DISAGREEMENT    ranks are in different calls; the message has both
 *   MUSTER_AUTHENTICATION  sealed data, or the bytes of a ..._bytes call, were changed between two nodes
 *   MUSTER_SYSTEM          the operating system refused (memory, descriptors)
 *   MUSTER_INTERNAL        a bug in muster
 *
 * All but MUSTER_USAGE fail the whole group, on all ranks; only muster_send to and muster_recv from a rank that has
 * left the group are MUSTER_PEER_LOST for this call alone. Maps have rules of their own, at their functions.
 *
 * Units. Counts are elements of `type`, sizes are bytes, ranks are 0..size-1 of the communicator they are
 * used with. All memory is host memory. A count or size of 0 is legal: its buffer may be NULL, and the call still
 * takes part.
 *
 * Fork. A child that is forked while there is a group has none: calls on its objects and muster_init return
 * MUSTER_USAGE, facts of a communicator are -1 or NULL, muster_shutdown, muster_comm_free and muster_map_free do
 * nothing. Facts of the process are the parent's. exec is fine.
 */
#ifndef MUSTER_H_
#define MUSTER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_EXPORT __attribute__((visibility("default")))
#define MUSTER_FALLIBLE MUSTER_EXPORT __attribute__((warn_unused_result))
/* In C++ too an argument may hold any number, which the library then refuses. */
#ifdef __cplusplus
#define MUSTER_ANY_NUMBER : unsigned
#else
#define MUSTER_ANY_NUMBER
#endif

/* ---- versions ---- */

/* The version of this header. A library of a higher version works with a program of a lower one: functions
 * and fields are added, never changed. */
#define MUSTER_ABI_VERSION 3

/* The version of the library in use: it serves programs that were compiled for this version or a lower one. */
MUSTER_EXPORT uint32_t muster_abi_version(void);
/* Its release, "0.1.0". */
MUSTER_EXPORT const char* muster_version(void);

/* ---- errors ---- */

typedef enum muster_code {
  MUSTER_OK = 0,
  MUSTER_USAGE = 1,           /* the caller's mistake: a null buffer, a rank that is not there */
  MUSTER_NOT_LAUNCHED = 2,    /* an allocation, but this process was not launched as one of its ranks */
  MUSTER_BAD_ENVIRONMENT = 3, /* malformed or contradictory environment */
  MUSTER_PEER_LOST = 4,       /* another rank ended, left early or fell silent */
  MUSTER_INTERNAL = 5,        /* a bug in muster */
  MUSTER_SYSTEM = 6,          /* the operating system refused */
  MUSTER_DEADLINE = 7,        /* time ran out; the message names missing ranks */
  MUSTER_DISAGREEMENT = 8,    /* ranks disagree: world size, configuration, collective */
  MUSTER_AUTHENTICATION = 9,  /* a peer could not prove its identity */
  MUSTER_CONFIGURATION = 10,  /* bad YAML, setting or MUSTER_* value */
  MUSTER_WORK_FAILED = 11     /* all programs exited with 0, but a file of run.expect is missing */
} muster_code;

typedef struct muster_error muster_error;

/* A muster_code; MUSTER_OK of NULL. Later versions may have more of them. */
MUSTER_EXPORT int muster_error_code(const muster_error* error);
/* Never NULL; "" of NULL, and if there is no remedy. UTF-8 if the texts that it quotes are. They live as long as the
 * error. */
MUSTER_EXPORT const char* muster_error_message(const muster_error* error);
MUSTER_EXPORT const char* muster_error_hint(const muster_error* error);
/* NULL is fine. */
MUSTER_EXPORT void muster_error_free(muster_error* error);

/* "peer_lost": the name used in muster's own output; "ok" of MUSTER_OK, "unknown" of any other number. */
MUSTER_EXPORT const char* muster_code_name(int code);
/* The exit status of muster's commands for such an error, 64 to 79; 0 of MUSTER_OK. */
MUSTER_EXPORT int muster_exit_status(int code);

/* ---- the group ---- */

typedef struct muster_comm muster_comm;

typedef struct muster_options {
  const char* config_file;     /* YAML; NULL: $MUSTER_CONFIG, else the defaults */
  const char* const* settings; /* "timeouts.collective=1h", as after --set */
  size_t number_of_settings;
} muster_options;

#define MUSTER_TIMEOUT_DEFAULT ((int64_t)-1)

/* Resolves the rank of this process, joins the group (or adopts the group of the `muster run` that started
 * this program) and returns the communicator of all. `abi_version`: MUSTER_ABI_VERSION. `options`: may be NULL.
 * Blocks for at most timeouts.resolve + timeouts.rendezvous + timeouts.init. A second call returns the first group.
 * After an error, and after muster_shutdown, it may be called again, on all ranks.
 *
 *   MUSTER_USAGE            a null pointer, an older library than the header, a forked child
 *   MUSTER_NOT_LAUNCHED     an allocation, but this process was not started as one of its ranks
 *   MUSTER_BAD_ENVIRONMENT  variables of launchers are malformed or contradict each other
 *   MUSTER_CONFIGURATION    a bad file, setting or MUSTER_* value; a second call with other options
 *   MUSTER_DEADLINE         ranks are missing when the time is over; the message names them
 *   MUSTER_PEER_LOST        a rank ended while the group was forming
 *   MUSTER_DISAGREEMENT     ranks differ in world size, configuration or version
 *   MUSTER_AUTHENTICATION   a peer could not prove its identity
 *   MUSTER_SYSTEM           the operating system refused
 *   MUSTER_INTERNAL         a bug in muster */
MUSTER_FALLIBLE muster_error* muster_init(uint32_t abi_version, const muster_options* options,
                                          muster_comm** world);

/* Leaves the group, and ends the communicators of muster_split and the maps; waits for at most timeouts.shutdown.
 * Without it the end of this process is a failure of the group. Communicators and maps may still be passed to any
 * function here, which then returns MUSTER_USAGE, -1 or NULL; those of muster_split and muster_map_begin remain to be
 * freed. A call of another thread that waits ends with MUSTER_USAGE; if it does not return within half of
 * timeouts.shutdown, at most 5 s, its memory is kept. It fails the group if it needs a rank that left more than 2 s ago:
 * free its communicator first if ranks end further apart. Does nothing if there is no group, and in a forked child.
 * Error: the failure of the group, if it has failed or fails during this wait. */
MUSTER_FALLIBLE muster_error* muster_shutdown(void);

/* Makes "rank R on NODE REASON" (MUSTER_PEER_LOST) the failure of the whole group, unless it has one: every
 * call that waits, on every rank, returns it, and so does every later one. `reason`: "was interrupted"; NULL: "gave
 * up". For a thread that ends the wait of another thread. Does not wait; does nothing without a group, in a forked
 * child, and while muster_init or muster_shutdown runs. */
MUSTER_EXPORT void muster_abandon(const char* reason);

typedef enum muster_log_level MUSTER_ANY_NUMBER {
  MUSTER_LOG_DEBUG = 0,
  MUSTER_LOG_INFO = 1,
  MUSTER_LOG_WARNING = 2,
  MUSTER_LOG_ERROR = 3
} muster_log_level;

/* A line in muster's log (version 3): with the time and this rank, in the format and at the place of the configuration
 * (log), from log.level on. A number that is no level is MUSTER_LOG_ERROR; a `message` of NULL is "". Waits at most
 * 100 ms if standard error is stopped, as every line of the log. From any thread. Before muster_init the line goes to
 * standard error, without a time. Does nothing in a forked child of a process with a group. */
MUSTER_EXPORT void muster_log(muster_log_level level, const char* message);

/* The rank of this process, and its place. -1, or NULL: of NULL, after muster_shutdown, in a forked child, and of a
 * rank, node or index that does not exist. */
MUSTER_EXPORT int muster_rank(const muster_comm* comm);
MUSTER_EXPORT int muster_size(const muster_comm* comm);
MUSTER_EXPORT int muster_local_rank(
    const muster_comm* comm); /* among the communicator's ranks on this node */
MUSTER_EXPORT int muster_local_size(const muster_comm* comm); /* how many they are */
MUSTER_EXPORT int muster_node_rank(
    const muster_comm* comm); /* this node's index; by the lowest rank on each */
MUSTER_EXPORT int muster_num_nodes(const muster_comm* comm);
MUSTER_EXPORT int muster_node_of(const muster_comm* comm, int rank); /* the index of the rank's node */
MUSTER_EXPORT const char* muster_node_name(const muster_comm* comm, int node);
/* The node's addresses that other nodes can reach, numeric, best first; NULL past the last one. None on a
 * single node. */
MUSTER_EXPORT const char* muster_node_address(const muster_comm* comm, int node, int index);
MUSTER_EXPORT const char* muster_group_id(
    const muster_comm* comm); /* 32 hexadecimal digits; "" in a world of one */
MUSTER_EXPORT const char* muster_backend(const muster_comm* comm); /* "socket" */

/* Facts of the process: NULL, or -1, before muster_init and after muster_shutdown. */
MUSTER_EXPORT const char* muster_launcher(void); /* "slurm", "torchrun", "muster", ..., "none" */
MUSTER_EXPORT const char* muster_job_key(void);  /* "slurm:4.0:0" */
/* timeouts.collective, as the group's configuration has it. */
MUSTER_EXPORT int64_t muster_collective_timeout_ns(void);

/* A communicator of all ranks that gave the same colour, ordered by key, then by rank. Collective over
 * `comm`. With a negative colour this rank takes part and *part is NULL. */
MUSTER_FALLIBLE muster_error* muster_split(muster_comm* comm, int color, int key, int64_t timeout_ns,
                                           muster_comm** part);
/* Frees a communicator of muster_split, and does not wait for other ranks. Does nothing with NULL, and with the world,
 * which belongs to muster. A call of another thread on it ends with MUSTER_USAGE, and so does every later one. */
MUSTER_EXPORT void muster_comm_free(muster_comm* comm);

/* ---- collectives on elements ---- */

typedef enum muster_type MUSTER_ANY_NUMBER {
  MUSTER_I8 = 0,
  MUSTER_U8 = 1,
  MUSTER_I32 = 2,
  MUSTER_I64 = 3,
  MUSTER_U64 = 4,
  MUSTER_F16 = 5,  /* IEEE half precision; arithmetic happens in float */
  MUSTER_BF16 = 6, /* bfloat16; likewise */
  MUSTER_F32 = 7,
  MUSTER_F64 = 8
} muster_type;

typedef enum muster_operation MUSTER_ANY_NUMBER {
  MUSTER_SUM = 0,
  MUSTER_PROD = 1,
  MUSTER_MIN = 2,
  MUSTER_MAX = 3,
  MUSTER_AVG = 4
} muster_operation;

/* Every rank of the communicator calls the same ones in the same order, with the same count, type, operation
 * and root; else MUSTER_DISAGREEMENT, on all ranks, naming both sides. A rank that waits for no other rank in such a call,
 * as the root of a broadcast, gets it from one of its next calls, at the latest from muster_shutdown. A buffer of 0
 * elements may be NULL. Those of reduce, all_reduce and reduce_scatter are aligned for `type`. `send` and `receive` do not
 * overlap, except in these layouts in place:
 *
 *   reduce, all_reduce, all_to_all   receive is send
 *   gather, all_gather               send is this rank's block of receive
 *   scatter, reduce_scatter          receive is this rank's block of send
 *
 * MUSTER_AVG is the sum divided by size. Of integers the sum wraps around first, and the quotient is cut off
 * towards 0. */

MUSTER_FALLIBLE muster_error* muster_barrier(muster_comm* comm, int64_t timeout_ns);

MUSTER_FALLIBLE muster_error* muster_broadcast(muster_comm* comm, void* data, size_t count, muster_type type,
                                               int root, int64_t timeout_ns);

/* `receive` has `count` elements; used on the root alone, may be NULL elsewhere. */
MUSTER_FALLIBLE muster_error* muster_reduce(muster_comm* comm, const void* send, void* receive, size_t count,
                                            muster_type type, muster_operation operation, int root,
                                            int64_t timeout_ns);

MUSTER_FALLIBLE muster_error* muster_all_reduce(muster_comm* comm, const void* send, void* receive,
                                                size_t count, muster_type type, muster_operation operation,
                                                int64_t timeout_ns);

/* `receive` has size x `count` elements, in rank order; used on the root alone, may be NULL elsewhere. */
MUSTER_FALLIBLE muster_error* muster_gather(muster_comm* comm, const void* send, void* receive, size_t count,
                                            muster_type type, int root, int64_t timeout_ns);

/* `receive` has size x `count` elements, in rank order. */
MUSTER_FALLIBLE muster_error* muster_all_gather(muster_comm* comm, const void* send, void* receive,
                                                size_t count, muster_type type, int64_t timeout_ns);

/* `send` has size x `count` elements, in rank order; used on the root alone, may be NULL elsewhere. */
MUSTER_FALLIBLE muster_error* muster_scatter(muster_comm* comm, const void* send, void* receive, size_t count,
                                             muster_type type, int root, int64_t timeout_ns);

/* `send` has size x `count` elements; rank r receives the reduction of the r-th block of `count` of every rank. */
MUSTER_FALLIBLE muster_error* muster_reduce_scatter(muster_comm* comm, const void* send, void* receive,
                                                    size_t count, muster_type type,
                                                    muster_operation operation, int64_t timeout_ns);

/* Both have size blocks of `count` elements; block i goes to, and comes from, rank i. */
MUSTER_FALLIBLE muster_error* muster_all_to_all(muster_comm* comm, const void* send, void* receive,
                                                size_t count, muster_type type, int64_t timeout_ns);

/* Matched in order between each pair of ranks; type and count must agree on both sides, else MUSTER_DISAGREEMENT.
 * `to` or `from` is another rank: this rank itself is MUSTER_USAGE. */
MUSTER_FALLIBLE muster_error* muster_send(muster_comm* comm, const void* data, size_t count, muster_type type,
                                          int to, int64_t timeout_ns);
MUSTER_FALLIBLE muster_error* muster_recv(muster_comm* comm, void* data, size_t count, muster_type type,
                                          int from, int64_t timeout_ns);

/* ---- collectives on bytes whose number differs by rank ---- */
/* They are authenticated: bytes that were changed between two nodes are an error, and are not returned. */

/* The result: byte strings by rank. The caller's: muster_parts_free. */
typedef struct muster_parts muster_parts;

MUSTER_EXPORT size_t muster_parts_count(const muster_parts* parts);
/* Of a part that does not exist: 0, and NULL. An empty part's data may be NULL. They live as long as `parts`. */
MUSTER_EXPORT size_t muster_parts_size(const muster_parts* parts, size_t index);
MUSTER_EXPORT const void* muster_parts_data(const muster_parts* parts, size_t index);
/* NULL is fine. */
MUSTER_EXPORT void muster_parts_free(muster_parts* parts);

/* One part for each rank on the root, none elsewhere. */
MUSTER_FALLIBLE muster_error* muster_gather_bytes(muster_comm* comm, const void* data, size_t size, int root,
                                                  int64_t timeout_ns, muster_parts** parts);
/* One part for each rank. */
MUSTER_FALLIBLE muster_error* muster_all_gather_bytes(muster_comm* comm, const void* data, size_t size,
                                                      int64_t timeout_ns, muster_parts** parts);
/* One part, the root's; `data` is used on the root alone. */
MUSTER_FALLIBLE muster_error* muster_broadcast_bytes(muster_comm* comm, const void* data, size_t size,
                                                     int root, int64_t timeout_ns, muster_parts** parts);

/* ---- maps: a queue of items for all ranks (version 2) ---- */
/* N items, numbers 0..N-1, are handed out to the ranks as they are ready for more; each result is written to a journal
 * once, and the next run with the same journal does what is left, with any number of ranks. The end of a rank is no
 * failure of the group while a map is at work: its items go to others.
 *
 *   uint64_t item;
 *   error = muster_map_begin(world, &map_options, &map);
 *   while (error == NULL && (error = muster_map_next(map, &item, NULL)) == NULL && item != MUSTER_MAP_END)
 *     error = muster_map_commit(map, item, key[item], MUSTER_MAP_BYTES, result, size, nanoseconds);
 *   if (error == NULL) error = muster_map_finish(map, &outcome);
 *   muster_map_free(map);
 *
 * muster_map_next, _commit, _fail, _give_back and _stop may be called by several threads at a time; the others by one.
 *
 *   MUSTER_USAGE         an argument, a forked child, after muster_shutdown; a later run has taken the journal over
 *   MUSTER_SYSTEM        the journal cannot be read or written
 *   MUSTER_DISAGREEMENT  a rank that came later has another map
 *
 * and the group's failure, which alone breaks communicators. */

typedef struct muster_map muster_map;

/* muster_map_next: the map is over for this rank. */
#define MUSTER_MAP_END UINT64_MAX

/* How a result is to be read. */
typedef enum muster_map_format MUSTER_ANY_NUMBER {
  MUSTER_MAP_BYTES = 0,
  MUSTER_MAP_JSON = 1,  /* UTF-8 */
  MUSTER_MAP_PICKLE = 2 /* Python's */
} muster_map_format;

typedef struct muster_map_options {
  uint64_t items; /* 0 is legal: the map is over when it has begun */
  /* 32 bytes: the BLAKE2b-256 of all keys in the order of the items, of each its length (64 bits, little-endian) and its
   * bytes. NULL: the items have numbers, but no keys. A journal of other keys is refused. */
  const unsigned char* keys_digest;
  /* The name of the work on an item, for users and as a digest: a journal of other work is refused. NULL: "". */
  const char* work;
  const char* journal; /* a directory that the root's node can write; NULL: results live as long as the map */
  int retries;         /* tries after the first, before an item is given up: 0 to 30 */
  int64_t timeout_ns;  /* of one item; 0 or less: none. A process that takes longer is ended with status 75 */
  int retry_given_up;  /* not 0: items that an earlier run gave up are tried again */
  int slots;           /* items that this rank works on at a time; may differ by rank; at least 1 */
  /* `items` bytes: the class of each item, 0 to 63. Items of a class take about equally long: near the job's end, no item
   * is begun that takes longer than its class usually does. Rank 0's count. NULL: all items are one class. */
  const unsigned char* classes;
  int quiet; /* not 0: no lines about the progress */
} muster_map_options;

#define MUSTER_MAP_LISTED 10

typedef struct muster_map_outcome {
  uint64_t items;
  uint64_t committed;      /* by earlier runs as well */
  uint64_t given_up;       /* by earlier runs as well */
  uint64_t resumed;        /* of both, by earlier runs */
  uint64_t second_commits; /* refused: another rank had committed the item */
  int time_is_up;          /* not 0: the job ends soon, and items are left for the next run */
  int first_rank;          /* the lowest that was neither lost nor had left the map when it was over */
  size_t listed;           /* of `listed_items`: the first items that were given up, as they came */
  uint64_t listed_items[MUSTER_MAP_LISTED];
} muster_map_outcome;

/* Every rank of the world calls it, with the same options; only slots may differ. Waits until the root has read the
 * journal, at most timeouts.collective (MUSTER_DEADLINE). One map of a process at a time.
 *
 *   MUSTER_DISAGREEMENT  another rank, or the journal, has another map
 *   MUSTER_USAGE         an argument or option; a communicator of muster_split; a forked child; another run is at work
 *                        on the journal; another map of this process is at work
 *   MUSTER_SYSTEM        the journal cannot be read or written
 *
 * and the group's failure. */
MUSTER_FALLIBLE muster_error* muster_map_begin(muster_comm* world, const muster_map_options* options,
                                               muster_map** map);
/* The next item, and which try it is (from 1; `attempt` may be NULL); MUSTER_MAP_END when all have ended or the time is
 * up. Waits, without a limit, while other ranks have the last items. */
MUSTER_FALLIBLE muster_error* muster_map_next(muster_map* map, uint64_t* item, uint32_t* attempt);
/* The result of an item that muster_map_next gave. MUSTER_USAGE: more than 4 MiB, or an item that this rank does not
 * have. Does not wait for the disk; while more than 1 MiB is on its way it waits for the root. A result that is too
 * late, because the item went to another rank, is dropped and counted. */
MUSTER_FALLIBLE muster_error* muster_map_commit(muster_map* map, uint64_t item, const char* key,
                                                muster_map_format format, const void* data, size_t size,
                                                int64_t took_ns);
/* The item failed: it is tried again, or given up. `reason` is for users; its last 64 KiB are kept. This function and
 * the next do not wait, and do nothing for an item that this rank does not have. */
MUSTER_FALLIBLE muster_error* muster_map_fail(muster_map* map, uint64_t item, const char* key,
                                              const char* reason, int64_t took_ns);
/* The item was not begun, or was interrupted for no fault of its own: that is no failed try. */
MUSTER_FALLIBLE muster_error* muster_map_give_back(muster_map* map, uint64_t item);
/* This rank takes no more items: muster_map_next gives MUSTER_MAP_END. From any thread; does not wait. */
MUSTER_EXPORT void muster_map_stop(muster_map* map);
/* Every rank calls it. This rank takes no more items, and those that it has go to others. Waits, without a limit, until
 * all items have ended and are durable, or the time is up and every rank has stopped work. */
MUSTER_FALLIBLE muster_error* muster_map_finish(muster_map* map, muster_map_outcome* outcome);

/* Records of the journal; the caller's: muster_map_records_free. */
typedef struct muster_map_records muster_map_records;
typedef struct muster_map_record {
  uint64_t item;
  const char* key;
  int given_up; /* not 0: `data` is the last reason */
  int rank;
  const char* node;
  uint32_t attempts;
  int64_t took_ns;
  int format; /* a muster_map_format */
  const void* data;
  size_t size;
} muster_map_record;

/* After muster_map_finish: the items `first` to `first` + `count` - 1 that have ended, in order. Waits for the root,
 * without a limit. */
MUSTER_FALLIBLE muster_error* muster_map_read(muster_map* map, uint64_t first, uint64_t count,
                                              muster_map_records** records);
MUSTER_EXPORT size_t muster_map_records_count(const muster_map_records* records);
/* 1; of a record that is not there 0, and *record is unchanged. The pointers live as long as `records`. */
MUSTER_EXPORT int muster_map_records_get(const muster_map_records* records, size_t index,
                                         muster_map_record* record);
/* NULL is fine. */
MUSTER_EXPORT void muster_map_records_free(muster_map_records* records);
/* Items that this rank still has go to others. Does not wait for other ranks. A call of another thread on it ends with
 * MUSTER_USAGE, and so does every later one. NULL is fine; does nothing in a forked child. */
MUSTER_EXPORT void muster_map_free(muster_map* map);

#ifdef __cplusplus
}
#endif

#endif /* MUSTER_H_ */

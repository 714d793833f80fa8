/* Every call of muster.h, by a program in C11; each rank prints what it got. tests/bootstrap/c/reference.cc
 * does the same in C++, and the lines must be equal. */
#include "bootstrap/c/muster.h"
#include "tests/bootstrap/c/samples.h"

static void must(muster_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s (%s)\n", muster_code_name(muster_error_code(error)), muster_error_message(error),
          muster_error_hint(error));
  exit(muster_exit_status(muster_error_code(error)));
}

static const int64_t kDefault = MUSTER_TIMEOUT_DEFAULT;

static void reductions(muster_comm* comm, int type) {
  const int rank = muster_rank(comm);
  const size_t size = (size_t)muster_size(comm);
  const muster_type t = (muster_type)type;
  for (int op = 0; op < kOperations; ++op) {
    const muster_operation o = (muster_operation)op;
    void* mine = sample(type, kCount, rank);
    void* all = sample(type, kCount * size, rank);
    void* result = calloc(kCount, kSizes[type]);
    must(muster_all_reduce(comm, mine, result, kCount, t, o, kDefault));
    show(rank, "all_reduce", kTypeNames[type], kOperationNames[op], result, kCount * kSizes[type]);
    memset(result, 0, kCount * kSizes[type]);
    must(muster_reduce(comm, mine, rank == 1 ? result : NULL, kCount, t, o, 1, kDefault));
    show(rank, "reduce", kTypeNames[type], kOperationNames[op], result, kCount * kSizes[type]);
    must(muster_reduce_scatter(comm, all, result, kCount, t, o, kDefault));
    show(rank, "reduce_scatter", kTypeNames[type], kOperationNames[op], result, kCount * kSizes[type]);
    free(mine);
    free(all);
    free(result);
  }
}

static void send_around(muster_comm* comm, int type) {
  const int rank = muster_rank(comm);
  const int size = muster_size(comm);
  void* mine = sample(type, kCount, rank);
  void* got = calloc(kCount, kSizes[type]);
  if (rank == 0) {
    must(muster_send(comm, mine, kCount, (muster_type)type, 1, kDefault));
    must(muster_recv(comm, got, kCount, (muster_type)type, size - 1, kDefault));
  } else {
    must(muster_recv(comm, got, kCount, (muster_type)type, rank - 1, kDefault));
    must(muster_send(comm, mine, kCount, (muster_type)type, (rank + 1) % size, kDefault));
  }
  show(rank, "recv", kTypeNames[type], "-", got, kCount * kSizes[type]);
  free(mine);
  free(got);
}

static void movements(muster_comm* comm, int type) {
  const int rank = muster_rank(comm);
  const size_t size = (size_t)muster_size(comm);
  const size_t bytes = kCount * kSizes[type];
  const muster_type t = (muster_type)type;
  void* mine = sample(type, kCount, rank);
  void* all = sample(type, kCount * size, rank);
  void* block = calloc(kCount, kSizes[type]);
  void* blocks = calloc(kCount * size, kSizes[type]);
  must(muster_all_gather(comm, mine, blocks, kCount, t, kDefault));
  show(rank, "all_gather", kTypeNames[type], "-", blocks, bytes * size);
  memset(blocks, 0, bytes * size);
  must(muster_gather(comm, mine, rank == 1 ? blocks : NULL, kCount, t, 1, kDefault));
  show(rank, "gather", kTypeNames[type], "-", blocks, bytes * size);
  must(muster_scatter(comm, rank == 1 ? all : NULL, block, kCount, t, 1, kDefault));
  show(rank, "scatter", kTypeNames[type], "-", block, bytes);
  must(muster_all_to_all(comm, all, blocks, kCount, t, kDefault));
  show(rank, "all_to_all", kTypeNames[type], "-", blocks, bytes * size);
  must(muster_broadcast(comm, mine, kCount, t, 1, kDefault));
  show(rank, "broadcast", kTypeNames[type], "-", mine, bytes);
  send_around(comm, type);
  free(mine);
  free(all);
  free(block);
  free(blocks);
}

static void show_parts(int rank, const char* what, muster_parts* parts) {
  for (size_t i = 0; i < muster_parts_count(parts); ++i) {
    show(rank, what, "bytes", "-", muster_parts_data(parts, i), muster_parts_size(parts, i));
  }
  muster_parts_free(parts);
}

static void byte_strings(muster_comm* comm) {
  const int rank = muster_rank(comm);
  /* Rank 0 has none. */
  const size_t mine = (size_t)rank * 11;
  void* data = sample(1, mine, rank);
  muster_parts* parts;
  must(muster_gather_bytes(comm, data, mine, 1, kDefault, &parts));
  show_parts(rank, "gather_bytes", parts);
  must(muster_all_gather_bytes(comm, data, mine, kDefault, &parts));
  show_parts(rank, "all_gather_bytes", parts);
  must(muster_broadcast_bytes(comm, data, mine, 1, kDefault, &parts));
  show_parts(rank, "broadcast_bytes", parts);
  free(data);
}

static void parts_of_the_group(muster_comm* comm) {
  const int rank = muster_rank(comm);
  muster_comm* part;
  must(muster_split(comm, rank == 0 ? -1 : 4, -rank, kDefault, &part));
  if (part == NULL) {
    printf("rank %d split none\n", rank);
    return;
  }
  int32_t sum = rank;
  must(muster_all_reduce(part, &sum, &sum, 1, MUSTER_I32, MUSTER_SUM, kDefault));
  printf("rank %d split %d of %d sum %" PRId32 "\n", rank, muster_rank(part), muster_size(part), sum);
  muster_comm_free(part);
}

static void facts(const muster_comm* comm) {
  const int rank = muster_rank(comm);
  printf("rank %d facts %d %d %d %d %d %s %s %s\n", rank, muster_size(comm), muster_local_rank(comm),
         muster_local_size(comm), muster_node_rank(comm), muster_num_nodes(comm),
         muster_node_name(comm, muster_node_of(comm, rank)), muster_backend(comm), muster_launcher());
}

int main(void) {
  muster_comm* comm;
  begin_output();
  must(muster_init(MUSTER_ABI_VERSION, NULL, &comm));
  facts(comm);
  for (int type = 0; type < kTypes; ++type) {
    reductions(comm, type);
    movements(comm, type);
  }
  byte_strings(comm);
  parts_of_the_group(comm);
  must(muster_barrier(comm, kDefault));
  must(muster_shutdown());
  return 0;
}

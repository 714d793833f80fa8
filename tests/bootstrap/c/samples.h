/* The input of both sides of the conformance test: the same input on each rank, the same line for each
 * result. */
#ifndef TESTS_BOOTSTRAP_C_SAMPLES_H_
#define TESTS_BOOTSTRAP_C_SAMPLES_H_

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kTypes = 9, kOperations = 5, kCount = 37 };

static const char* const kTypeNames[kTypes] = {"i8", "u8", "i32", "i64", "u64", "f16", "bf16", "f32", "f64"};
static const char* const kOperationNames[kOperations] = {"sum", "prod", "min", "max", "avg"};
static const size_t kSizes[kTypes] = {1, 1, 4, 8, 8, 2, 2, 4, 8};

/* The number 1, 2 or 3 as an element of the type. */
static inline void put_element(void* at, int type, int value) {
  const uint16_t halves[] = {0x3C00, 0x4000, 0x4200};
  const uint16_t bfloats[] = {0x3F80, 0x4000, 0x4040};
  const int32_t i32 = value;
  const int64_t i64 = value;
  const uint8_t u8 = (uint8_t)value;
  const float f32 = (float)value;
  const double f64 = value;
  const void* const elements[kTypes] = {&u8,  &u8, &i32, &i64, &i64, &halves[value - 1], &bfloats[value - 1],
                                        &f32, &f64};
  memcpy(at, elements[type], kSizes[type]);
}

/* `count` elements that depend on the rank; the caller frees them. */
static inline void* sample(int type, size_t count, int rank) {
  char* data = (char*)malloc(count * kSizes[type] + 1);
  for (size_t i = 0; i < count; ++i) {
    put_element(data + i * kSizes[type], type, 1 + (int)((i * 7 + (size_t)rank * 5) % 3));
  }
  return data;
}

/* Ranks share the standard output: each line is one write. */
static inline void begin_output(void) {
  static char line[8192];
  setvbuf(stdout, line, _IOLBF, sizeof line);
}

/* One line: what it was, and all its bytes. */
static inline void show(int rank, const char* what, const char* type, const char* operation, const void* data,
                        size_t size) {
  const unsigned char* bytes = (const unsigned char*)data;
  char* line = (char*)malloc(size * 2 + 1);
  line[0] = '\0';
  for (size_t i = 0; i < size; ++i) sprintf(line + i * 2, "%02x", bytes[i]);
  printf("rank %d %s %s %s %s\n", rank, what, type, operation, line);
  free(line);
}

#endif /* TESTS_BOOTSTRAP_C_SAMPLES_H_ */

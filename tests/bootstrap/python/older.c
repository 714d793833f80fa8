/* A libmuster.so from before there was a first version of its interface. */
#include <stdint.h>

uint32_t muster_abi_version(void);
uint32_t muster_abi_version(void) { return 0; }

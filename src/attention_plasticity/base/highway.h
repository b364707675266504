// What every file of vectorised kernels includes after it defined HWY_TARGET_INCLUDE; no include guard, since Highway
// includes the kernels once for each target.

#ifndef HWY_DISABLED_TARGETS
// Kernels keep vectors in arrays, so their size must be known to the compiler.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

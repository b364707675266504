// Every file of vectorised kernels defines HWY_TARGET_INCLUDE and then includes this file. There is no include guard,
// because Highway includes the kernels once for each target.

#ifndef HWY_DISABLED_TARGETS
// Kernels keep vectors in arrays, so the compiler must know their size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

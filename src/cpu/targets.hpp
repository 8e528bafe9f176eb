// Include first in a file that Highway compiles once for each instruction set.
#pragma once

/// Sets that this machine would not pick, in builds for it alone (cmake/highway.cmake).
#ifndef LACUNA_OTHER_TARGETS
#define LACUNA_OTHER_TARGETS 0
#endif

/// Left out: sets that offer these kernels nothing over their neighbours (SSE2 below, AVX3 above),
/// for shorter builds.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | LACUNA_OTHER_TARGETS)

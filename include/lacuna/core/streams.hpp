// For those who bring streams and device memory of their own: another library's, Python's.
#pragma once

#include <lacuna/core/context.hpp>

namespace lacuna {

/// What is queued on `later` from now on waits for what `earlier` has queued by now; the host waits
/// for neither. Both are streams of this device, nullptr its legacy default stream. Throws
/// device_error, unsupported in a build without CUDA.
LACUNA_EXPORT void order_streams(int device, CUstream_st* earlier, CUstream_st* later);

/// The device whose memory this is; -1: none, it is host memory.
LACUNA_EXPORT int device_of(const void* data);

} // namespace lacuna

// lacuna-bench io: files read and written, beside SciPy and what the disk itself takes.
#pragma once

#include "bench/settings.hpp"

namespace lacuna::bench {

/// Returns whether everything came back as it was written.
bool run_io(const settings& s);

} // namespace lacuna::bench

#pragma once

namespace lacuna::app {

/// All caches of the CPU's last level together, from Linux's sysfs: glibc's answer counts those of
/// the whole package, of which a virtual machine may have a part.
double last_cache_bytes();

} // namespace lacuna::app

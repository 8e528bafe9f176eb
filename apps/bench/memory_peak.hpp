// The most memory that some work holds at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include <lacuna/core/memory.hpp>

namespace lacuna::bench {

/// Of Lacuna's arrays since the process began, though meters have reset the library's own figure.
std::int64_t peak_of_process(space s);
/// Of the whole process, by the system's count.
std::int64_t resident_peak_of_process();

/// From its making on: how much more than before was held at once.
class peak_meter {
public:
  /// In the space's arrays of Lacuna's, which peers on a device allocate with too.
  /// `resident`: of the process, where the system tells: peers on the host have memory of their
  /// own. Pages that they keep from earlier runs are not seen.
  peak_meter(space s, bool resident);
  /// 0: not known.
  [[nodiscard]] std::int64_t bytes() const;

private:
  space space_;
  std::int64_t arrays_before_, resident_before_ = 0;
};

} // namespace lacuna::bench

// Lets allocation number n fail, and all after it.
#pragma once

#include <atomic>

#include <lacuna/core/memory.hpp>

namespace lacuna::test {

inline std::atomic<int> allowed{-1}; // allocations until one fails; negative: all pass
inline std::atomic<bool> failed{false};

inline bool count_down(space, std::size_t) {
  if (allowed.load() < 0) return true;
  if (allowed.fetch_sub(1) > 0) return true;
  failed = true;
  allowed = 0; // and so does every one after it
  return false;
}

/// Installs the hook for its life.
class failing_allocator {
public:
  explicit failing_allocator(int after) : before_(set_allocation_hook(count_down)) {
    failed = false;
    allowed = after;
  }
  ~failing_allocator() {
    allowed = -1;
    set_allocation_hook(before_);
  }
  failing_allocator(const failing_allocator&) = delete;
  failing_allocator& operator=(const failing_allocator&) = delete;

private:
  allocation_hook before_;
};

} // namespace lacuna::test

#include "fault/plain_new.hpp"

#include <cstdlib>
#include <new>

namespace lacuna::test {
std::atomic<std::size_t> largest_plain_new{0};
} // namespace lacuna::test

// Sanitizers bring their own; there nothing is watched.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define LACUNA_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LACUNA_TEST_SANITIZED
#endif
#ifndef LACUNA_TEST_SANITIZED

// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is the allocator
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  auto& largest = lacuna::test::largest_plain_new;
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (seen < bytes && !largest.compare_exchange_weak(seen, bytes)) {
  }
  return std::malloc(bytes != 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* p = operator new(bytes, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
// NOLINTEND(cppcoreguidelines-no-malloc)
#endif

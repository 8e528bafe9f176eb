#include "core/host_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>

#include <unistd.h>

namespace lacuna::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t most_blocks = 0; // the sanitizers are to see every use after free
#else
constexpr std::size_t most_blocks = 32;
#endif

/// Kept at most: a sixteenth of the machine's memory, 1 GiB.
std::size_t most_bytes() {
  static const std::size_t limit =
      std::min(std::size_t{1} << 30, static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                         static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 16);
  return limit;
}

struct block {
  void* p;
  std::size_t size;
};
std::mutex lock;
std::array<block, std::max<std::size_t>(most_blocks, 1)> kept; // the oldest first
std::size_t count = 0, bytes_kept = 0;

void remove(std::size_t i) {
  bytes_kept -= kept[i].size;
  std::move(kept.begin() + i + 1, kept.begin() + count, kept.begin() + i);
  --count;
}
void release(void* p) { ::operator delete (p, std::align_val_t{std::size_t{2} << 20}); }

} // namespace

std::size_t block_size(std::size_t bytes) noexcept {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

void* take_block(std::size_t bytes) noexcept {
  const std::size_t size = block_size(bytes);
  const std::lock_guard guard(lock);
  for (std::size_t i = count; i-- > 0;)
    if (kept[i].size == size) {
      void* const p = kept[i].p;
      remove(i);
      return p;
    }
  return nullptr;
}

bool keep_block(void* p, std::size_t bytes) noexcept {
  const std::size_t size = block_size(bytes);
  if (most_blocks == 0 || size > most_bytes() / 2) return false;
  const std::lock_guard guard(lock);
  while (count == most_blocks || (count > 0 && bytes_kept + size > most_bytes())) {
    void* const oldest = kept[0].p;
    remove(0);
    release(oldest);
  }
  kept[count++] = {p, size};
  bytes_kept += size;
  return true;
}

void free_blocks() noexcept {
  const std::lock_guard guard(lock);
  while (count > 0) {
    void* const p = kept[count - 1].p;
    remove(count - 1);
    release(p);
  }
}

} // namespace lacuna::detail

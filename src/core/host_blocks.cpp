#include "core/host_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace lacuna::detail {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// The bytes that a block for `bytes` has: up to an eighth more, so that sizes repeat.
std::size_t block_size(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}
std::align_val_t alignment(std::size_t size) {
  return std::align_val_t{size >= huge_from ? huge_page : std::size_t{64}};
}
void* new_block(std::size_t size) {
  void* const p = ::operator new(size, alignment(size), std::nothrow);
  // Fewer TLB misses on streams and gathers; only advice, so a refusal is no error.
  if (p != nullptr && size >= huge_from) (void)madvise(p, size, MADV_HUGEPAGE);
  return p;
}
void free_block(void* p, std::size_t size) { ::operator delete(p, alignment(size)); }

struct block {
  void* p;
  std::size_t size;
};

/// Freed blocks, the oldest first: up to so many bytes of them. Whoever finds the shelf locked goes
/// to the system instead of waiting: a process forked while a thread had the lock has it for ever.
class shelf {
public:
  explicit shelf(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void* take(std::size_t size) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return nullptr;
    for (std::size_t i = count_; i-- > 0;)
      if (kept_[i].size == size) return remove(i).p;
    return nullptr;
  }
  void give(block b) {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || most_blocks == 0 || b.size > most_bytes_ / 2) return free_block(b.p, b.size);
    while (count_ == most_blocks || (count_ > 0 && bytes_ + b.size > most_bytes_)) {
      const block oldest = remove(0);
      free_block(oldest.p, oldest.size);
    }
    kept_[count_++] = b;
    bytes_ += b.size;
  }
  void clear() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return;
    while (count_ > 0) {
      const block last = remove(count_ - 1);
      free_block(last.p, last.size);
    }
  }

private:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr std::size_t most_blocks = 0; // the sanitizers are to see every use after free
#else
  static constexpr std::size_t most_blocks = 32;
#endif
  block remove(std::size_t i) {
    const block b = kept_[i];
    std::move(kept_.begin() + i + 1, kept_.begin() + count_, kept_.begin() + i);
    --count_;
    bytes_ -= b.size;
    return b;
  }

  std::mutex lock_;
  std::array<block, std::max<std::size_t>(most_blocks, 1)> kept_;
  std::size_t count_ = 0, bytes_ = 0, most_bytes_;
};

/// Small blocks, which are many, do not drive large ones out. Never destroyed: arrays of static
/// lifetime are freed after main.
shelf& shelf_of(std::size_t size) {
  // A sixteenth of the machine's memory, 1 GiB at most.
  static shelf& large = *new shelf(
      std::min(std::size_t{1} << 30, static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                         static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 16));
  static shelf& small = *new shelf(std::size_t{32} << 20);
  return size >= huge_from ? large : small;
}

} // namespace

void* take_block(std::size_t bytes) noexcept {
  const std::size_t size = block_size(bytes);
  if (void* const kept = shelf_of(size).take(size)) return kept;
  if (void* const made = new_block(size)) return made;
  free_blocks();
  return new_block(size);
}

void give_block(void* p, std::size_t bytes) noexcept {
  const std::size_t size = block_size(bytes);
  shelf_of(size).give({p, size});
}

void free_blocks() noexcept {
  shelf_of(kept_from).clear();
  shelf_of(huge_from).clear();
}

} // namespace lacuna::detail

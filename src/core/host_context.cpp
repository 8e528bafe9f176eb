#include <cstdlib>
#include <cstring>
#include <new>

#include <omp.h>
#include <sys/mman.h>

#include <fmt/format.h>

#include "core/memory.hpp"
#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna {
namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t huge_from = 2 * huge_page;
} // namespace

host_context::context(host_options options) : threads_(options.threads) {
  if (threads_ < 0) throw bad_input(fmt::format("host_context: {} threads", threads_));
  if (threads_ == 0) threads_ = omp_get_max_threads();
}

void* host_context::allocate(std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  if (!detail::allocation_allowed(space::host, bytes))
    detail::throw_out_of_memory(space::host, bytes);
  const std::align_val_t alignment{bytes >= huge_from ? huge_page : 64};
  void* p = ::operator new(bytes, alignment, std::nothrow);
  if (p == nullptr) detail::throw_out_of_memory(space::host, bytes);
  // Fewer TLB misses on streams and gathers; only advice, so a refusal is no error.
  if (bytes >= huge_from) (void)madvise(p, bytes, MADV_HUGEPAGE);
  detail::note_allocated(space::host, bytes);
  return p;
}

void host_context::deallocate(void* p, std::size_t bytes) const noexcept {
  if (p == nullptr) return;
  ::operator delete (p, std::align_val_t{bytes >= huge_from ? huge_page : 64});
  detail::note_freed(space::host, bytes);
}

template <> const host_context& default_context<space::host>() {
  static const host_context ctx;
  return ctx;
}

bool built_with_cuda() noexcept { return has_cuda; }

} // namespace lacuna

#include <cstdlib>
#include <cstring>
#include <new>

#include <omp.h>

#include <fmt/format.h>

#include "core/host_blocks.hpp"
#include "core/memory.hpp"
#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna {
host_context::context(host_options options) : threads_(options.threads) {
  if (threads_ < 0) throw bad_input(fmt::format("host_context: {} threads", threads_));
  if (threads_ == 0) threads_ = omp_get_max_threads();
}

void* host_context::allocate(std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  if (!detail::allocation_allowed(space::host, bytes))
    detail::throw_out_of_memory(space::host, bytes);
  void* const p = bytes >= detail::kept_from
                      ? detail::take_block(bytes)
                      : ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (p == nullptr) detail::throw_out_of_memory(space::host, bytes);
  detail::note_allocated(space::host, bytes);
  return p;
}

void host_context::deallocate(void* p, std::size_t bytes) const noexcept {
  if (p == nullptr) return;
  detail::note_freed(space::host, bytes);
  if (bytes < detail::kept_from)
    ::operator delete (p, std::align_val_t{64});
  else
    detail::give_block(p, bytes);
}

void host_context::trim() const noexcept { detail::free_blocks(); }

template <> const host_context& default_context<space::host>() {
  static const host_context ctx;
  return ctx;
}

bool built_with_cuda() noexcept { return has_cuda; }

} // namespace lacuna

#include <exception>
#include <mutex>

#include "cpu/rows.hpp"
#include "op/value_function.hpp"

namespace lacuna::detail {

void call_on_ranges(const host_context& ctx, std::int64_t size, void* f,
                    void (*call)(void* f, std::int64_t begin, std::int64_t end)) {
  std::exception_ptr thrown; // the first; none may leave a thread
  std::mutex guard;
  cpu::for_each_range(ctx, size, cpu::entry_grain, [&](std::int64_t begin, std::int64_t end) {
    try {
      call(f, begin, end);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!thrown) thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {

template <class T>
void map_array(const host_context& ctx, value_function f, T exponent, vector_view<T> values) {
  for_each_range(ctx, values.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) values[k] = value_of(f, values[k], exponent);
  });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void map_array(const host_context&, value_function, T, vector_view<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu

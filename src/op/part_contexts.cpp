#include "op/part_contexts.hpp"

#include <exception>
#include <set>

#include "cpu/parallel.hpp"

namespace lacuna {

std::vector<device_context> contexts_on(const std::vector<int>& devices) {
  if (devices.empty()) throw bad_input("contexts_on: the list of devices is empty");
  std::vector<device_context> contexts;
  contexts.reserve(devices.size());
  for (const int device : devices) contexts.emplace_back(device_options{.device = device});
  return contexts;
}

namespace detail {

int threads_for(const std::vector<host_context>&) { return 1; }
int threads_for(const std::vector<device_context>& parts) {
  std::set<std::pair<int, CUstream_st*>> streams;
  for (const auto& part : parts) streams.emplace(part.device(), part.stream());
  return streams.size() == parts.size() ? static_cast<int>(parts.size()) : 1;
}

void for_each_part(int threads, int parts, const std::function<void(int)>& f) {
  std::vector<std::exception_ptr> failed(static_cast<std::size_t>(parts));
  cpu::for_each_dynamic(threads, parts, [&](int p) {
    try {
      f(p);
    } catch (...) {
      failed[static_cast<std::size_t>(p)] = std::current_exception();
    }
  });
  for (const auto& exception : failed)
    if (exception) std::rethrow_exception(exception);
}

} // namespace detail
} // namespace lacuna

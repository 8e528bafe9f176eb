// Devices and streams for Python.
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "matrix.hpp"

namespace lacuna::python {
namespace {

struct stream_choice {
  int device = -1; // none was chosen
  CUstream_st* stream = nullptr;
};
thread_local stream_choice chosen;

/// A context has a pool and scratch of its own: one for each stream, as long as the process. The
/// per-thread default stream is another one in each thread.
using stream_key = std::tuple<int, CUstream_st*, std::thread::id>;
struct contexts {
  std::mutex mutex;
  std::map<stream_key, device_context> made;
};
contexts& all_contexts() {
  static auto* const all = new contexts; // CUDA may be gone when static objects are destroyed
  return *all;
}

/// Returns (device, stream) of before; device -1: none.
nb::object choose_stream(int device, std::uintptr_t number) {
  const stream_choice before = chosen;
  if (device >= 0) require_device(device);
  chosen = {device, stream_from(number)};
  return nb::make_tuple(before.device, number_of(before.stream));
}

void empty_cache() {
  contexts& all = all_contexts();
  const std::lock_guard guard(all.mutex);
  for (const auto& [key, ctx] : all.made) ctx.trim();
}

} // namespace

int current_device() { return std::max(chosen.device, 0); }

void require_device(int device) {
  if (!built_with_cuda())
    throw std::runtime_error(
        "lacuna: this build has no CUDA; pip install . with nvcc on PATH has it");
  const int count = device_count();
  if (count == 0) throw std::runtime_error("lacuna: no CUDA device was found, or no driver");
  if (device < 0 || device >= count)
    throw std::runtime_error("lacuna: cuda:" + std::to_string(device) +
                             " is not there; devices: " + std::to_string(count));
}

device_context device_context_on(int device) {
  CUstream_st* const stream = chosen.device == device ? chosen.stream : nullptr;
  const bool per_thread = number_of(stream) == 2;
  const stream_key key{device, stream, per_thread ? std::this_thread::get_id() : std::thread::id()};
  contexts& all = all_contexts();
  const std::lock_guard guard(all.mutex);
  const auto found = all.made.find(key);
  if (found != all.made.end()) return found->second;
  require_device(device);
  const device_context made(
      {.device = device, .stream = stream, .legacy_stream = stream == nullptr});
  all.made.emplace(key, made);
  return made;
}

void stream_uses::put_before(const device_context& ctx) const {
  order_streams(writer_.device(), writer_.stream(), ctx.stream());
  for (CUstream_st* const reader : readers_) order_streams(writer_.device(), reader, ctx.stream());
}
void stream_uses::before_reading_on(const device_context& ctx) {
  const std::lock_guard guard(mutex_);
  if (ctx.stream() == writer_.stream() ||
      std::find(readers_.begin(), readers_.end(), ctx.stream()) != readers_.end())
    return;
  order_streams(writer_.device(), writer_.stream(), ctx.stream());
  readers_.push_back(ctx.stream());
}
void stream_uses::before_writing_on(const device_context& ctx) {
  const std::lock_guard guard(mutex_);
  put_before(ctx);
  writer_ = ctx;
  readers_.clear();
}
void stream_uses::before_freeing(const device_context& allocated_on) noexcept {
  try {
    put_before(allocated_on);
  } catch (const std::exception&) { // the device has failed, and says so at the next call
  }
}
CUstream_st* stream_uses::before_sharing() {
  const std::lock_guard guard(mutex_);
  put_before(writer_);
  readers_.clear();
  return writer_.stream();
}

void bind_streams(nb::module_& m) {
  m.def("device_count", [] { return device_count(); });
  m.def("current_device", &current_device);
  m.def("choose_stream", &choose_stream);
  m.def("synchronize", [](int device) {
    const device_context ctx = device_context_on(device);
    without_gil([&] { ctx.synchronize(); });
  });
  m.def("empty_cache", [] { without_gil(&empty_cache); });
}

} // namespace lacuna::python

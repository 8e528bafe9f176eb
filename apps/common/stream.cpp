#include "common/stream.hpp"

namespace lacuna::app {

stream_arrays::stream_arrays(const host_context& ctx, pass what, std::int64_t size)
    : threads_(ctx.threads()), what_(what), size_(size), a_(ctx, size), b_(ctx, size),
      c_(ctx, what == pass::triad ? size : 0) {
  double *a = a_.data(), *b = b_.data(), *c = c_.data();
  const std::int64_t c_size = c_.size();
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < size_; ++i) { // first touched by the thread that uses it
    a[i] = 0;
    b[i] = 1;
    if (i < c_size) c[i] = 2;
  }
}

void stream_arrays::run() {
  double* a = a_.data();
  const double *b = b_.data(), *c = c_.data();
  if (what_ == pass::triad) {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < size_; ++i) a[i] = b[i] + 3 * c[i];
  } else {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < size_; ++i) a[i] = b[i];
  }
}

double stream_arrays::bytes() const {
  return (what_ == pass::triad ? 24.0 : 16.0) * static_cast<double>(size_);
}

} // namespace lacuna::app

#include "support/engine.hpp"

namespace lacuna::test {

const host_context& host_engine::context() {
  static const host_context ctx(host_options{.threads = 3});
  return ctx;
}

const device_context& cuda_engine::context() {
  // Never destroyed: at exit the driver may be gone before it.
  static const auto* const ctx = new device_context;
  return *ctx;
}

void internal::for_each_matrix(const char* engine, void (*call)(void*, const triplets&), void* f) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(std::string(engine) + ": " + m.name);
    call(f, m);
  }
}

template <class E, class T, class I, class O>
array<T, on<E, T, I, O>::memory_space> on<E, T, I, O>::put(const std::vector<T>& v) {
  return copy_to(context(), v);
}
template <class E, class T, class I, class O>
csr<T, I, O, on<E, T, I, O>::memory_space> on<E, T, I, O>::put_csr(const triplets& m) {
  return copy_to(context(), make_csr<T, I, O>(m));
}
template <class E, class T, class I, class O>
csc<T, I, O, on<E, T, I, O>::memory_space> on<E, T, I, O>::put_csc(const triplets& m) {
  return copy_to(context(), make_csc<T, I, O>(m));
}
template <class E, class T, class I, class O>
coo<T, I, O, on<E, T, I, O>::memory_space> on<E, T, I, O>::put_coo(const triplets& m) {
  return copy_to(context(), make_coo<T, I, O>(m));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template struct on<host_engine, T, I, O>;                                                        \
  template struct on<cuda_engine, T, I, O>;
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
LACUNA_HOST_VECTORS()

} // namespace lacuna::test

// Engines: where a test runs. The same test source is built for each; a test of an engine whose
// device is missing is skipped by name.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lacuna/lacuna.hpp>

#include "support/battery.hpp"

namespace lacuna::test {

struct host_engine {
  static constexpr space memory_space = space::host;
  static constexpr const char* name = "host";
  static bool present() { return true; }
  /// Three threads wherever it runs: an uneven split, also on machines with fewer cores.
  static const host_context& context();
};

struct cuda_engine {
  static constexpr space memory_space = space::device;
  static constexpr const char* name = "cuda";
  static bool present() { return device_count() > 0; }
  static const device_context& context();
};

namespace internal {
void for_each_matrix(const char* engine, void (*call)(void* f, const triplets& m), void* f);
} // namespace internal

/// What a typed test is built for, an engine and one of the library's type triples; and how it
/// gets its operands there.
template <class Engine, class T, class I, class O> struct on {
  using engine = Engine;
  using value = T;
  using index = I;
  using offset = O;
  static constexpr space memory_space = Engine::memory_space;
  static const auto& context() { return Engine::context(); }

  static array<T, memory_space> put(const std::vector<T>& v);
  static csr<T, I, O> host_csr(const triplets& m) { return make_csr<T, I, O>(m); }
  static csr<T, I, O, memory_space> put_csr(const triplets& m);
  static csc<T, I, O, memory_space> put_csc(const triplets& m);
  static coo<T, I, O, memory_space> put_coo(const triplets& m);

  /// Calls f with each matrix of the battery; a failure names engine and matrix.
  template <class F> static void for_each_matrix(F f) {
    internal::for_each_matrix(
        Engine::name, [](void* call, const triplets& m) { (*static_cast<F*>(call))(m); }, &f);
  }
  /// Calls f, which computes sums, with integers in use and then with random numbers; these only
  /// where columns and offsets are equally wide, for sums round alike with any width.
  template <class F> static void for_each_value_kind(F f) {
    for (const value_kind kind : {value_kind::integers, value_kind::random}) {
      if (kind == value_kind::random && sizeof(I) != sizeof(O)) continue;
      SCOPED_TRACE(name_of(kind));
      const with_values in_use(kind);
      f();
    }
  }
  /// Both at once.
  template <class F> static void for_each_sum(F f) {
    for_each_value_kind([&] { for_each_matrix(f); });
  }
};

/// "host_float_i32_o64"
struct config_name {
  template <class C> static std::string GetName(int) {
    return std::string(C::engine::name) +
           (std::is_same_v<typename C::value, float> ? "_float" : "_double") + "_i" +
           std::to_string(8 * sizeof(typename C::index)) + "_o" +
           std::to_string(8 * sizeof(typename C::offset));
  }
};

namespace internal {
template <class... Lists> struct join;
template <class... A, class... B> struct join<::testing::Types<A...>, ::testing::Types<B...>> {
  using type = ::testing::Types<A..., B...>;
};
template <class E>
using all_on = ::testing::Types<
    on<E, float, std::int32_t, std::int32_t>, on<E, float, std::int32_t, std::int64_t>,
    on<E, float, std::int64_t, std::int32_t>, on<E, float, std::int64_t, std::int64_t>,
    on<E, double, std::int32_t, std::int32_t>, on<E, double, std::int32_t, std::int64_t>,
    on<E, double, std::int64_t, std::int32_t>, on<E, double, std::int64_t, std::int64_t>>;
template <class E>
using few_on = ::testing::Types<on<E, double, std::int32_t, std::int32_t>,
                                on<E, float, std::int64_t, std::int64_t>>;
template <class E>
using values_on = ::testing::Types<on<E, float, std::int32_t, std::int32_t>,
                                   on<E, double, std::int32_t, std::int32_t>>;
template <template <class> class List, template <class> class DeviceList = List>
using on_engines =
    typename std::conditional_t<has_cuda, join<List<host_engine>, DeviceList<cuda_engine>>,
                                join<List<host_engine>, ::testing::Types<>>>::type;
/// A quick build, made where no device will run what it has, shows with one triple that tests of
/// the cuda engine compile.
#if LACUNA_ALL_DEVICE_TYPES
template <class E> using all_on_device = all_on<E>;
template <class E> using few_on_device = few_on<E>;
template <class E> using values_on_device = values_on<E>;
#else
template <class E>
using all_on_device = ::testing::Types<on<E, double, std::int32_t, std::int32_t>>;
template <class E> using few_on_device = all_on_device<E>;
template <class E> using values_on_device = all_on_device<E>;
#endif
} // namespace internal

/// Every type triple on every engine of this build; two of them; float and double alone. A test
/// that is the only one to run a kernel, or the only one on its shapes, is built for all; what an
/// operation refuses, leaves alone or does by way of others' kernels, for few.
using all_configs = internal::on_engines<internal::all_on, internal::all_on_device>;
using few_configs = internal::on_engines<internal::few_on, internal::few_on_device>;
using value_configs = internal::on_engines<internal::values_on, internal::values_on_device>;

/// For sources named device_…, which a build without CUDA leaves out.
using device_configs = internal::few_on_device<cuda_engine>;
/// For what only the host has: threads.
using host_value_configs = internal::values_on<host_engine>;

/// Base of typed tests.
template <class C> class engine_test : public ::testing::Test {
protected:
  void SetUp() override {
    if (!C::engine::present()) GTEST_SKIP() << "no CUDA device";
  }
};

/// Elements of an owner's or view's array, on the host.
template <class T, space S> std::vector<std::remove_const_t<T>> host_vector(vector_view<T, S> v) {
  const auto copy = copy_to(default_context<space::host>(), v);
  return {copy.begin(), copy.end()};
}
template <class T, space S> std::vector<T> host_vector(const array<T, S>& v) {
  return host_vector(v.view());
}
// Built once, in engine.cpp.
#define LACUNA_HOST_VECTOR(prefix, T, S)                                                           \
  prefix template std::vector<T> host_vector(vector_view<T, S>);                                   \
  prefix template std::vector<T> host_vector(vector_view<const T, S>);                             \
  prefix template std::vector<T> host_vector(const array<T, S>&);
#define LACUNA_HOST_VECTORS(prefix)                                                                \
  LACUNA_HOST_VECTOR(prefix, float, space::host)                                                   \
  LACUNA_HOST_VECTOR(prefix, double, space::host)                                                  \
  LACUNA_HOST_VECTOR(prefix, std::int32_t, space::host)                                            \
  LACUNA_HOST_VECTOR(prefix, std::int64_t, space::host)                                            \
  LACUNA_HOST_VECTOR(prefix, float, space::device)                                                 \
  LACUNA_HOST_VECTOR(prefix, double, space::device)                                                \
  LACUNA_HOST_VECTOR(prefix, std::int32_t, space::device)                                          \
  LACUNA_HOST_VECTOR(prefix, std::int64_t, space::device)
LACUNA_HOST_VECTORS(extern)

/// Whether two vectors have the same bits (NaN equals itself, 0 is not -0).
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

} // namespace lacuna::test

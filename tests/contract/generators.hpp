// What the tests of generated matrices share.
#pragma once

#include <bit>
#include <functional>
#include <string>

#include <lacuna/gen/generate.hpp>

#include "support/engine.hpp"

namespace lacuna::test::generated {

using matrix = csr<double, std::int64_t, std::int64_t>;

inline matrix make(std::string_view spec) {
  return gen::generate<double, std::int64_t, std::int64_t>(host_engine::context(), spec);
}

template <class T, class I, class O> std::uint64_t bits_of(const csr<T, I, O>& a) {
  std::uint64_t h = 14695981039346656037U; // FNV-1a
  const auto add = [&](std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) h = (h ^ (word >> 8 * byte & 255)) * 1099511628211U;
  };
  for (const auto r : a.rowptr()) add(static_cast<std::uint64_t>(r));
  for (const auto j : a.colind()) add(static_cast<std::uint64_t>(j));
  for (const auto v : a.values()) add(std::bit_cast<std::uint64_t>(static_cast<double>(v)));
  return h;
}

inline double at(const matrix& a, std::int64_t i, std::int64_t j) {
  for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
    if (a.colind()[k] == j) return a.values()[k];
  return 0;
}
inline std::int64_t length(const matrix& a, std::int64_t i) {
  return a.rowptr()[i + 1] - a.rowptr()[i];
}
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const bad_input& e) {
    return e.what();
  }
  return "no bad_input";
}
inline std::string refusal(std::string_view spec) {
  return message_of([&] { (void)make(spec); });
}

} // namespace lacuna::test::generated

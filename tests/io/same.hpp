// Matrices that must be equal bit by bit.
#pragma once

#include <cstring>

#include <gtest/gtest.h>

#include <lacuna/format/csr.hpp>

namespace lacuna::test {

template <class A, class B> void expect_same_bits(const A& a, const B& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  const auto bytes = static_cast<std::size_t>(a.size()) * sizeof a[0];
  EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), bytes) == 0) << what;
}

/// Values that are NaN need only be NaN in both.
template <class T, class I, class O>
void expect_same(const csr<T, I, O>& a, const csr<T, I, O>& b) {
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(a.order(), b.order());
  expect_same_bits(a.rowptr(), b.rowptr(), "rowptr");
  expect_same_bits(a.colind(), b.colind(), "colind");
  ASSERT_EQ(a.size(), b.size());
  for (O k = 0; k < a.size(); ++k) {
    const T x = a.values()[k], y = b.values()[k];
    EXPECT_TRUE((x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0) << x << " and " << y;
  }
}

} // namespace lacuna::test

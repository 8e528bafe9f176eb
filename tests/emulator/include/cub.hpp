// What Lacuna uses of CUB.
#pragma once
#include "cuda_runtime.hpp"

#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace cub {
namespace detail {
inline unsigned thread() { return emu::self->linear; }
template <class T> T garbage() {
  T v;
  std::memset(static_cast<void*>(&v), 0xcd, sizeof v);
  return v;
}
template <class K> unsigned long long bits_of(K key, int begin, int end) {
  using U = std::make_unsigned_t<K>;
  U u = static_cast<U>(key);
  if constexpr (std::is_signed_v<K>) u ^= U{1} << (8 * sizeof(U) - 1);
  unsigned long long v = static_cast<unsigned long long>(u) >> begin;
  const int n = end - begin;
  return n >= 64 ? v : v & ((1ull << n) - 1);
}
} // namespace detail

template <class T, int N, int = 0, int = 1, int = 1> class BlockReduce {
public:
  struct TempStorage {
    T v[N];
  };
  BlockReduce(TempStorage& t) : t_(t) {}
  template <class Op> T Reduce(T v, Op op) {
    const unsigned me = detail::thread();
    t_.v[me] = v;
    __syncthreads();
    if (me != 0) return detail::garbage<T>();
    T r = t_.v[0];
    for (int i = 1; i < N; ++i) r = op(r, t_.v[i]);
    return r;
  }
  T Sum(T v) { return Reduce(v, std::plus<T>{}); }

private:
  TempStorage& t_;
};

template <class T, int N, int = 0, int = 1, int = 1> class BlockScan {
public:
  struct TempStorage {
    T v[N + 1];
  };
  BlockScan(TempStorage& t) : t_(t) {}
  void ExclusiveSum(T in, T& out) {
    T all;
    scan(in, out, all);
  }
  void ExclusiveSum(T in, T& out, T& all) { scan(in, out, all); }
  void InclusiveSum(T in, T& out) {
    T all, before;
    scan(in, before, all);
    out = before + in;
  }
  void InclusiveSum(T in, T& out, T& all) {
    T before;
    scan(in, before, all);
    out = before + in;
  }
  template <int K> void ExclusiveSum(T (&in)[K], T (&out)[K]) {
    T all;
    ExclusiveSum(in, out, all);
  }
  template <int K> void ExclusiveSum(T (&in)[K], T (&out)[K], T& all) {
    T own = 0, before;
    for (int i = 0; i < K; ++i) own += in[i];
    scan(own, before, all);
    for (int i = 0; i < K; ++i) {
      const T v = in[i];
      out[i] = before;
      before += v;
    }
  }
  template <int K> void InclusiveSum(T (&in)[K], T (&out)[K]) {
    T all;
    InclusiveSum(in, out, all);
  }
  template <int K> void InclusiveSum(T (&in)[K], T (&out)[K], T& all) {
    T own = 0, before;
    for (int i = 0; i < K; ++i) own += in[i];
    scan(own, before, all);
    for (int i = 0; i < K; ++i) {
      before += in[i];
      out[i] = before;
    }
  }

private:
  void scan(T in, T& before, T& all) {
    const unsigned me = detail::thread();
    t_.v[me] = in;
    __syncthreads();
    if (me == 0) {
      T sum = 0;
      for (int i = 0; i < N; ++i) {
        const T v = t_.v[i];
        t_.v[i] = sum;
        sum += v;
      }
      t_.v[N] = sum;
    }
    __syncthreads();
    before = t_.v[me];
    all = t_.v[N];
  }
  TempStorage& t_;
};

struct NullType {};
template <class K, int N, int Items, class V = NullType> class BlockRadixSort {
public:
  union TempStorage {
    K k[N * Items];
    V v[N * Items];
  };
  BlockRadixSort(TempStorage& t) : t_(t) {}
  void Sort(K (&k)[Items], V (&v)[Items], int begin = 0, int end = 8 * sizeof(K)) {
    sort(k, v, begin, end, false);
  }
  void SortBlockedToStriped(K (&k)[Items], V (&v)[Items], int begin = 0, int end = 8 * sizeof(K)) {
    sort(k, v, begin, end, true);
  }

private:
  void sort(K (&k)[Items], V (&v)[Items], int begin, int end, bool striped) {
    const int me = int(detail::thread());
    const auto place = [&](int u) { return striped ? u * N + me : me * Items + u; };
    for (int u = 0; u < Items; ++u) t_.k[me * Items + u] = k[u];
    __syncthreads();
    std::vector<int> order;
    if (me == 0) {
      order.resize(N * Items);
      std::iota(order.begin(), order.end(), 0);
      std::vector<K> keys(t_.k, t_.k + N * Items);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return detail::bits_of(keys[a], begin, end) < detail::bits_of(keys[b], begin, end);
      });
      for (int i = 0; i < N * Items; ++i) t_.k[i] = keys[order[i]];
    }
    __syncthreads();
    for (int u = 0; u < Items; ++u) k[u] = t_.k[place(u)];
    __syncthreads();
    for (int u = 0; u < Items; ++u) t_.v[me * Items + u] = v[u];
    __syncthreads();
    if (me == 0) {
      std::vector<V> values(t_.v, t_.v + N * Items);
      for (int i = 0; i < N * Items; ++i) t_.v[i] = values[order[i]];
    }
    __syncthreads();
    for (int u = 0; u < Items; ++u) v[u] = t_.v[place(u)];
  }
  TempStorage& t_;
};

template <class K, int Items, int Lanes = 32, class V = NullType> class WarpMergeSort {
public:
  static_assert(Lanes == 32);
  union TempStorage {
    K k[Lanes * Items + 1];
    V v[Lanes * Items + 1];
  };
  WarpMergeSort(TempStorage& t) : t_(t) {}
  template <class Less> void Sort(K (&k)[Items], V (&v)[Items], Less less) {
    StableSort(k, v, less);
  }
  template <class Less> void StableSort(K (&k)[Items], V (&v)[Items], Less less) {
    constexpr int n = Lanes * Items;
    const int me = int(emu::self->lane);
    __syncwarp();
    for (int u = 0; u < Items; ++u) t_.k[me * Items + u] = k[u];
    __syncwarp();
    std::vector<int> order;
    if (me == 0) {
      order.resize(n);
      std::iota(order.begin(), order.end(), 0);
      std::vector<K> keys(t_.k, t_.k + n);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return less(keys[a], keys[b]); });
      for (int i = 0; i < n; ++i) t_.k[i] = keys[order[i]];
    }
    __syncwarp();
    for (int u = 0; u < Items; ++u) k[u] = t_.k[me * Items + u];
    __syncwarp();
    for (int u = 0; u < Items; ++u) t_.v[me * Items + u] = v[u];
    __syncwarp();
    if (me == 0) {
      std::vector<V> values(t_.v, t_.v + n);
      for (int i = 0; i < n; ++i) t_.v[i] = values[order[i]];
    }
    __syncwarp();
    for (int u = 0; u < Items; ++u) v[u] = t_.v[me * Items + u];
    __syncwarp();
  }

private:
  TempStorage& t_;
};

// ---- Device-wide: loops of the host's ----------------------------------------------------------
namespace detail {
inline bool asks(void* scratch, std::size_t& bytes) {
  if (scratch != nullptr) return false;
  bytes = 256;
  return true;
}
} // namespace detail
struct DeviceScan {
  template <class In, class Out, class Op, class Init, class N>
  static cudaError_t InclusiveScanInit(void* s, std::size_t& b, In in, Out out, Op op, Init init,
                                       N n, cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "InclusiveScanInit", [=]() mutable {
      Init sum = init;
      for (N i = 0; i < n; ++i) {
        sum = op(sum, in[i]);
        out[i] = sum;
      }
    });
    return cudaSuccess;
  }
  template <class In, class Out, class Op, class N>
  static cudaError_t InclusiveScan(void* s, std::size_t& b, In in, Out out, Op op, N n,
                                   cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "InclusiveScan", [=]() mutable {
      if (n == 0) return;
      auto sum = std::decay_t<decltype(in[0])>(in[0]);
      out[0] = sum;
      for (N i = 1; i < n; ++i) {
        sum = op(sum, in[i]);
        out[i] = sum;
      }
    });
    return cudaSuccess;
  }
  template <class In, class Out, class Op, class Init, class N>
  static cudaError_t ExclusiveScan(void* s, std::size_t& b, In in, Out out, Op op, Init init, N n,
                                   cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "ExclusiveScan", [=]() mutable {
      Init sum = init;
      for (N i = 0; i < n; ++i) {
        const auto v = in[i];
        out[i] = sum;
        sum = op(sum, v);
      }
    });
    return cudaSuccess;
  }
  template <class In, class Out, class N>
  static cudaError_t InclusiveSum(void* s, std::size_t& b, In in, Out out, N n,
                                  cudaStream_t stream = nullptr) {
    return InclusiveScan(s, b, in, out, std::plus<>{}, n, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t ExclusiveSum(void* s, std::size_t& b, In in, Out out, N n,
                                  cudaStream_t stream = nullptr) {
    using T = std::decay_t<decltype(in[0])>;
    return ExclusiveScan(s, b, in, out, std::plus<>{}, T{}, n, stream);
  }
};
struct DeviceReduce {
  template <class In, class Out, class N, class Op, class Init>
  static cudaError_t Reduce(void* s, std::size_t& b, In in, Out out, N n, Op op, Init init,
                            cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "Reduce", [=]() mutable {
      Init r = init;
      for (N i = 0; i < n; ++i) r = op(r, in[i]);
      *out = r;
    });
    return cudaSuccess;
  }
  template <class In, class Out, class N>
  static cudaError_t Sum(void* s, std::size_t& b, In in, Out out, N n,
                         cudaStream_t stream = nullptr) {
    using T = std::decay_t<decltype(*out)>;
    return Reduce(s, b, in, out, n, std::plus<>{}, T{}, stream);
  }
  template <class In, class Out, class N>
  static cudaError_t Max(void* s, std::size_t& b, In in, Out out, N n,
                         cudaStream_t stream = nullptr) {
    using T = std::decay_t<decltype(in[0])>;
    return Reduce(
        s, b, in, out, n, [](T x, T y) { return x < y ? y : x; }, std::numeric_limits<T>::lowest(),
        stream);
  }
};
struct DeviceSelect {
  template <class In, class Out, class Count, class N, class Holds>
  static cudaError_t If(void* s, std::size_t& b, In in, Out out, Count count, N n, Holds holds,
                        cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "Select::If", [=]() mutable {
      N k = 0;
      for (N i = 0; i < n; ++i) {
        const auto v = in[i];
        if (holds(v)) out[k++] = v;
      }
      *count = k;
    });
    return cudaSuccess;
  }
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void* s, std::size_t& b, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "Select::Flagged", [=]() mutable {
      N k = 0;
      for (N i = 0; i < n; ++i) {
        const auto v = in[i];
        if (flags[i]) out[k++] = v;
      }
      *count = k;
    });
    return cudaSuccess;
  }
};
struct DevicePartition {
  /// As CUB has it: those without a flag are at the back, in reverse.
  template <class In, class Flags, class Out, class Count, class N>
  static cudaError_t Flagged(void* s, std::size_t& b, In in, Flags flags, Out out, Count count, N n,
                             cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "Partition::Flagged", [=]() mutable {
      N k = 0, back = n;
      for (N i = 0; i < n; ++i) {
        if (flags[i])
          out[k++] = in[i];
        else
          out[--back] = in[i];
      }
      *count = k;
    });
    return cudaSuccess;
  }
};
template <class T> struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};
struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* s, std::size_t& b, const K* keys, K* to_keys, const V* values,
                               V* to_values, N n, int begin = 0, int end = 8 * sizeof(K),
                               cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "SortPairs",
                   [=] { sort(keys, to_keys, values, to_values, n, begin, end); });
    return cudaSuccess;
  }
  /// The result is in the alternate buffers where an odd number of passes is made; the others are
  /// garbage.
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* s, std::size_t& b, DoubleBuffer<K>& keys,
                               DoubleBuffer<V>& values, N n, int begin = 0, int end = 8 * sizeof(K),
                               cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    const bool moves = (end - begin + 7) / 8 % 2 == 1;
    K *k = keys.Current(), *other_k = keys.Alternate();
    V *v = values.Current(), *other_v = values.Alternate();
    emu::host_task(stream, "SortPairs", [=] {
      sort(k, other_k, v, other_v, n, begin, end);
      if (!moves) {
        std::memcpy(k, other_k, n * sizeof(K));
        std::memcpy(v, other_v, n * sizeof(V));
      }
      std::memset(moves ? k : other_k, 0xcd, n * sizeof(K));
      std::memset(static_cast<void*>(moves ? v : other_v), 0xcd, n * sizeof(V));
    });
    if (moves) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return cudaSuccess;
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* s, std::size_t& b, const K* keys, K* to_keys, N n,
                              int begin = 0, int end = 8 * sizeof(K),
                              cudaStream_t stream = nullptr) {
    if (detail::asks(s, b)) return cudaSuccess;
    emu::host_task(stream, "SortKeys", [=] {
      std::vector<K> all(keys, keys + n);
      std::stable_sort(all.begin(), all.end(), [=](K x, K y) {
        return detail::bits_of(x, begin, end) < detail::bits_of(y, begin, end);
      });
      std::copy(all.begin(), all.end(), to_keys);
    });
    return cudaSuccess;
  }

private:
  template <class K, class V, class N>
  static void sort(const K* keys, K* to_keys, const V* values, V* to_values, N n, int begin,
                   int end) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
      return detail::bits_of(keys[x], begin, end) < detail::bits_of(keys[y], begin, end);
    });
    std::vector<K> k(n);
    std::vector<V> v(n);
    for (N i = 0; i < n; ++i) {
      k[i] = keys[order[i]];
      v[i] = values[order[i]];
    }
    std::copy(k.begin(), k.end(), to_keys);
    std::copy(v.begin(), v.end(), to_values);
  }
};
} // namespace cub

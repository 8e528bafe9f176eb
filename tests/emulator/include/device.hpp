// Device functions: warps, atomics, mathematics, vector types.
#pragma once
#include "fiber.hpp"
#include <cmath>
#include <math.h>
#include <stdlib.h>
#include <algorithm>
#include <bit>

#define EMU_VECTOR(T, name, a2, a4)                                                                \
  struct alignas(a2) name##2 {                                                                     \
    T x, y;                                                                                        \
  };                                                                                               \
  struct name##3 {                                                                                 \
    T x, y, z;                                                                                     \
  };                                                                                               \
  struct alignas(a4) name##4 {                                                                     \
    T x, y, z, w;                                                                                  \
  };                                                                                               \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                       \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                               \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTOR(signed char, char, 2, 4)
EMU_VECTOR(unsigned char, uchar, 2, 4)
EMU_VECTOR(short, short, 4, 8)
EMU_VECTOR(unsigned short, ushort, 4, 8)
EMU_VECTOR(int, int, 8, 16)
EMU_VECTOR(float, float, 8, 16)
EMU_VECTOR(long, long, 16, 16)
EMU_VECTOR(unsigned long, ulong, 16, 16)
EMU_VECTOR(long long, longlong, 16, 16)
EMU_VECTOR(unsigned long long, ulonglong, 16, 16)
EMU_VECTOR(double, double, 16, 16)
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// ---- Barriers ----------------------------------------------------------------------------------
inline void __syncthreads() { emu::block_barrier(0, 1, 0, nullptr, nullptr, nullptr); }
inline int __syncthreads_or(int v) {
  int r;
  emu::block_barrier(v != 0, 1, 0, &r, nullptr, nullptr);
  return r;
}
inline int __syncthreads_and(int v) {
  int r;
  emu::block_barrier(0, v != 0, 0, nullptr, &r, nullptr);
  return r;
}
inline int __syncthreads_count(int v) {
  int r;
  emu::block_barrier(0, 1, v != 0, nullptr, nullptr, &r);
  return r;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  emu::leave(emu::arrive(mask, emu::warp_call::sync, nullptr, 0, false));
}

// ---- Warps -------------------------------------------------------------------------------------
inline unsigned __activemask() { return 1u << emu::self->lane; } // a lane runs alone
namespace emu {
template <class T> T shuffle(unsigned mask, T v, warp_call kind, unsigned source, bool moves) {
  static_assert(std::is_arithmetic_v<T>, "a type that shuffles take");
  warp_group* g = arrive(mask, kind, &v, sizeof v, false);
  if (moves) {
    if ((g->arrived >> source & 1) != 0)
      std::memcpy(&v, g->value[source], sizeof v);
    else
      std::memset(&v, 0xcd, sizeof v);
  }
  leave(g);
  return v;
}
} // namespace emu
template <class T> T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  const unsigned lane = emu::self->lane, base = lane & ~(unsigned(width) - 1);
  return emu::shuffle(mask, v, emu::warp_call::shfl,
                      base + (unsigned(source) & (unsigned(width) - 1)), true);
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const unsigned lane = emu::self->lane, base = lane & ~(unsigned(width) - 1);
  const bool moves = lane >= base + delta;
  return emu::shuffle(mask, v, emu::warp_call::shfl_up, lane - delta, moves);
}
template <class T> T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const unsigned lane = emu::self->lane, base = lane & ~(unsigned(width) - 1);
  const bool moves = lane + delta < base + unsigned(width);
  return emu::shuffle(mask, v, emu::warp_call::shfl_down, lane + delta, moves);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32) {
  const unsigned lane = emu::self->lane, base = lane & ~(unsigned(width) - 1);
  const unsigned source = lane ^ unsigned(lanes);
  return emu::shuffle(mask, v, emu::warp_call::shfl_xor, source, source < base + unsigned(width));
}
inline unsigned __ballot_sync(unsigned mask, int v) {
  emu::warp_group* g = emu::arrive(mask, emu::warp_call::ballot, nullptr, 0, v != 0);
  const unsigned r = g->votes;
  emu::leave(g);
  return r;
}
inline int __any_sync(unsigned mask, int v) {
  emu::warp_group* g = emu::arrive(mask, emu::warp_call::any, nullptr, 0, v != 0);
  const int r = g->votes != 0;
  emu::leave(g);
  return r;
}
inline int __all_sync(unsigned mask, int v) {
  emu::warp_group* g = emu::arrive(mask, emu::warp_call::all, nullptr, 0, v != 0);
  const int r = g->votes == g->arrived;
  emu::leave(g);
  return r;
}
template <class T> unsigned __match_any_sync(unsigned mask, T v) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  emu::warp_group* g = emu::arrive(mask, emu::warp_call::match_any, &v, sizeof v, false);
  unsigned r = 0;
  for (int l = 0; l < 32; ++l)
    if ((g->arrived >> l & 1) != 0 && std::memcmp(g->value[l], &v, sizeof v) == 0) r |= 1u << l;
  emu::leave(g);
  return r;
}
namespace emu {
template <class T, class Op> T reduce_warp(unsigned mask, T v, warp_call kind, Op op) {
  warp_group* g = arrive(mask, kind, &v, sizeof v, false);
  bool first = true;
  T r{};
  for (int l = 0; l < 32; ++l)
    if ((g->arrived >> l & 1) != 0) {
      T x;
      std::memcpy(&x, g->value[l], sizeof x);
      r = first ? x : op(r, x);
      first = false;
    }
  leave(g);
  return r;
}
} // namespace emu
#define EMU_REDUCE(name, T, expression)                                                            \
  inline T __reduce_##name##_sync(unsigned mask, T v) {                                            \
    return emu::reduce_warp(mask, v, emu::warp_call::reduce_##name,                                \
                            [](T a, T b) -> T { return expression; });                             \
  }
EMU_REDUCE(add, unsigned, a + b)
EMU_REDUCE(add, int, int(unsigned(a) + unsigned(b)))
EMU_REDUCE(min, unsigned, a < b ? a : b)
EMU_REDUCE(min, int, a < b ? a : b)
EMU_REDUCE(max, unsigned, a < b ? b : a)
EMU_REDUCE(max, int, a < b ? b : a)
EMU_REDUCE(and, unsigned, (a & b))
EMU_REDUCE(or, unsigned, a | b)
EMU_REDUCE(xor, unsigned, a ^ b)

// ---- Memory ------------------------------------------------------------------------------------
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) {
  emu::spin();
  return *const_cast<const volatile T*>(p);
}
template <class T> void __stcs(T* p, T v) { *p = v; }
template <class T> void __stcg(T* p, T v) { *p = v; }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { emu::yield_now(); }
inline void __trap() { abort(); }

// ---- Atomics -----------------------------------------------------------------------------------
#define EMU_ATOMIC(name, T, builtin)                                                               \
  inline T name(T* p, T v) {                                                                       \
    emu::tick();                                                                                   \
    return builtin(p, v, __ATOMIC_ACQ_REL);                                                        \
  }
#define EMU_ATOMIC_LOOP(name, T, expression)                                                       \
  inline T name(T* p, T v) {                                                                       \
    emu::tick();                                                                                   \
    T a;                                                                                           \
    __atomic_load(p, &a, __ATOMIC_ACQUIRE);                                                        \
    for (;;) {                                                                                     \
      T to = (expression);                                                                         \
      if (__atomic_compare_exchange(p, &a, &to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))        \
        return a;                                                                                  \
    }                                                                                              \
  }
#define EMU_BITS(T)                                                                                \
  EMU_ATOMIC(atomicOr, T, __atomic_fetch_or)                                                       \
  EMU_ATOMIC(atomicAnd, T, __atomic_fetch_and)                                                     \
  EMU_ATOMIC(atomicXor, T, __atomic_fetch_xor)                                                     \
  EMU_ATOMIC(atomicExch, T, __atomic_exchange_n)                                                   \
  inline T atomicCAS(T* p, T expected, T v) {                                                      \
    emu::tick();                                                                                   \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);       \
    return expected;                                                                               \
  }
#define EMU_ORDERED(T)                                                                             \
  EMU_ATOMIC_LOOP(atomicMin, T, a < v ? a : v)                                                     \
  EMU_ATOMIC_LOOP(atomicMax, T, a < v ? v : a)
EMU_BITS(int)
EMU_BITS(unsigned)
EMU_BITS(unsigned long long)
EMU_ORDERED(int)
EMU_ORDERED(unsigned)
EMU_ORDERED(unsigned long long)
EMU_ORDERED(long long)
EMU_ATOMIC(atomicAdd, int, __atomic_fetch_add)
EMU_ATOMIC(atomicAdd, unsigned, __atomic_fetch_add)
EMU_ATOMIC(atomicAdd, unsigned long long, __atomic_fetch_add)
EMU_ATOMIC_LOOP(atomicAdd, float, a + v)
EMU_ATOMIC_LOOP(atomicAdd, double, a + v)
EMU_ATOMIC(atomicSub, int, __atomic_fetch_sub)
EMU_ATOMIC(atomicSub, unsigned, __atomic_fetch_sub)
EMU_ATOMIC_LOOP(atomicInc, unsigned, a >= v ? 0u : a + 1)
EMU_ATOMIC_LOOP(atomicDec, unsigned, (a == 0 || a > v) ? v : a - 1)
inline float atomicExch(float* p, float v) {
  emu::tick();
  float a;
  __atomic_exchange(p, &v, &a, __ATOMIC_ACQ_REL);
  return a;
}

// ---- Bits and mathematics ----------------------------------------------------------------------
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(unsigned(v)); }
inline int __clzll(long long v) { return v == 0 ? 64 : __builtin_clzll((unsigned long long)v); }
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1u) << (31 - i);
  return r;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return unsigned(((unsigned long long)hi << 32 | lo) >> (s & 31));
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return unsigned(((unsigned long long)hi << 32 | lo) << (s & 31) >> 32);
}
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
namespace emu {
template <class T> T opaque(T v) { // is not contracted
  __asm__ volatile("" : "+x"(v));
  return v;
}
} // namespace emu
inline float __fmul_rn(float a, float b) { return emu::opaque(a * b); }
inline double __dmul_rn(double a, double b) { return emu::opaque(a * b); }
inline float __fadd_rn(float a, float b) { return emu::opaque(emu::opaque(a) + emu::opaque(b)); }
inline double __dadd_rn(double a, double b) { return emu::opaque(emu::opaque(a) + emu::opaque(b)); }
inline float __fsub_rn(float a, float b) { return emu::opaque(emu::opaque(a) - emu::opaque(b)); }
inline double __dsub_rn(double a, double b) { return emu::opaque(emu::opaque(a) - emu::opaque(b)); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rsqrtf(float a) { return 1.0f / sqrtf(a); }
inline double rsqrt(double a) { return 1.0 / sqrt(a); }
inline float rsqrt(float a) { return 1.0f / sqrtf(a); }
using std::abs;
using std::ceil;
using std::exp;
using std::fabs;
using std::floor;
using std::fma;
using std::fmax;
using std::fmin;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::ldexp;
using std::log;
using std::pow;
using std::signbit;
using std::sqrt;
#define EMU_MINMAX(A, B, R)                                                                        \
  constexpr R min(A a, B b) {                                                                      \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b);          \
  }                                                                                                \
  constexpr R max(A a, B b) {                                                                      \
    return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b);          \
  }
#define EMU_MINMAX_INT(S, U)                                                                       \
  EMU_MINMAX(S, S, S) EMU_MINMAX(U, U, U) EMU_MINMAX(S, U, U) EMU_MINMAX(U, S, U)
EMU_MINMAX_INT(int, unsigned)
EMU_MINMAX_INT(long, unsigned long)
EMU_MINMAX_INT(long long, unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(double a, float b) { return fmax(a, double(b)); }

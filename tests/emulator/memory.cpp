// Device memory, and the host's that is page-locked: what is allocated, guards around it.
#include "emulator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <sys/mman.h>

namespace emu {
namespace {
/// Device memory in one place, which is closed while nothing of the device's runs
/// (LACUNA_EMULATOR_PROTECT).
struct device_arena {
  std::mutex m;
  char* base = nullptr;
  std::size_t size = 0, top = 0;
  int open = 0;
  std::multimap<std::size_t, char*> free;
  std::map<char*, std::size_t> pieces;
  char* take(std::size_t bytes) {
    const std::lock_guard lock(m);
    bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (base == nullptr) {
      size = options().memory_bytes * 2;
      base = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (base == MAP_FAILED) std::abort();
    }
    char* p = nullptr;
    if (const auto i = free.lower_bound(bytes); i != free.end() && i->first <= 2 * bytes) {
      p = i->second;
      bytes = i->first;
      free.erase(i);
    } else {
      if (top + bytes > size) return nullptr;
      p = base + top;
      top += bytes;
      mprotect(p, bytes, PROT_READ | PROT_WRITE);
    }
    pieces[p] = bytes;
    return p;
  }
  void give(char* p) {
    const std::lock_guard lock(m);
    const auto i = pieces.find(p);
    free.emplace(i->second, p);
    pieces.erase(i);
  }
  void enter() {
    const std::lock_guard lock(m);
    if (open++ == 0 && top > 0) mprotect(base, top, PROT_READ | PROT_WRITE);
  }
  void leave() {
    const std::lock_guard lock(m);
    if (--open == 0 && top > 0) mprotect(base, top, PROT_NONE);
  }
  bool holds(const void* p) const { return base != nullptr && p >= base && p < base + size; }
};
device_arena& arena() {
  static auto* const a = new device_arena;
  return *a;
}
struct memory_table {
  std::mutex m;
  std::map<const char*, allocation> all; // by their begin
  std::size_t used = 0;
};
memory_table& table() {
  static auto* const t = new memory_table;
  return *t;
}

constexpr std::size_t front_bytes = 256; // before an allocation: a guard that keeps the alignment
std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

void check(const allocation& a) {
  const std::size_t front = options().fence ? std::size_t(a.at - a.base) - page_bytes : front_bytes;
  const std::size_t back = options().fence ? round_up(a.bytes, 16) - a.bytes : guard_bytes;
  const char* const wrong = !guard_intact(a.at - front, front)    ? "before"
                            : !guard_intact(a.at + a.bytes, back) ? "behind"
                                                                  : nullptr;
  if (wrong == nullptr) return;
  std::fprintf(stderr, "emulator: allocation of %zu bytes at %p\n", a.bytes,
               static_cast<void*>(a.at));
  fail((std::string("memory was written ") + wrong + " an allocation").c_str());
}

/// Between two pages that nobody can read or write, at the end of its pages.
bool map_fenced(allocation& a) {
  const std::size_t body = round_up(a.bytes, 16), pages = round_up(body, page_bytes);
  a.mapped = pages + 2 * page_bytes;
  void* const p = mmap(nullptr, a.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  a.base = static_cast<char*>(p);
  mprotect(a.base + page_bytes, pages, PROT_READ | PROT_WRITE);
  a.at = a.base + page_bytes + pages - body;
  std::memset(a.base + page_bytes, guard_value, pages);
  return true;
}
bool take_guarded(allocation& a) {
  const std::size_t all = round_up(front_bytes + a.bytes + guard_bytes, front_bytes);
  a.base = options().protect && !a.host ? arena().take(all)
                                        : static_cast<char*>(std::aligned_alloc(front_bytes, all));
  if (a.base == nullptr) return false;
  a.at = a.base + front_bytes;
  std::memset(a.base, guard_value, front_bytes);
  std::memset(a.at + a.bytes, guard_value, guard_bytes);
  return true;
}
} // namespace

device_access::device_access() {
  if (options().protect) arena().enter();
}
device_access::~device_access() {
  if (options().protect) arena().leave();
}
bool is_protected(const void* p) { return arena().holds(p); }

bool guard_intact(const char* p, std::size_t n) {
  return std::all_of(p, p + n, [](char c) { return static_cast<unsigned char>(c) == guard_value; });
}

void* allocate(std::size_t bytes, int device, bool host) {
  const device_access access;
  auto& t = table();
  const std::lock_guard lock(t.m);
  const std::size_t limit = options().memory_bytes;
  if (!host && (bytes > limit || t.used > limit - bytes)) return nullptr;
  allocation a{nullptr, bytes, nullptr, 0, device, host};
  if (!(options().fence ? map_fenced(a) : take_guarded(a))) return nullptr;
  std::memset(a.at, host ? 0 : options().fill, bytes);
  if (!host) t.used += bytes;
  t.all[a.at] = a;
  return a.at;
}

bool release_memory(void* p, bool host) {
  if (p == nullptr) return true;
  const device_access access;
  auto& t = table();
  const std::lock_guard lock(t.m);
  const auto i = t.all.find(static_cast<char*>(p));
  if (i == t.all.end() || i->second.host != host) return false;
  const allocation a = i->second;
  check(a);
  if (!host) t.used -= a.bytes;
  t.all.erase(i);
  if (options().fence) {
    munmap(a.base, a.mapped);
    return true;
  }
  if (!host) std::memset(a.at, 0xef, a.bytes);
  if (options().protect && !host)
    arena().give(a.base);
  else
    std::free(a.base);
  return true;
}

std::optional<allocation> find_allocation(const void* p) {
  auto& t = table();
  const std::lock_guard lock(t.m);
  const char* const place = static_cast<const char*>(p);
  const auto behind = t.all.upper_bound(place);
  if (behind == t.all.begin()) return {};
  const allocation a = std::prev(behind)->second;
  if (place > a.at + a.bytes) return {};
  return a;
}

cudaError_t check_range(const void* p, std::size_t n, bool is_device, const char* what) {
  if (n == 0) return cudaSuccess;
  const auto a = find_allocation(p);
  if (a && static_cast<const char*>(p) + n > a->at + a->bytes) {
    std::fprintf(stderr, "emulator: %s of %zu bytes leaves its allocation\n", what, n);
    fail("out of bounds");
  }
  const bool in_device = a && !a->host;
  return (is_device ? a.has_value() : !in_device) ? cudaSuccess : cudaErrorInvalidValue;
}

void check_guards() {
  auto& t = table();
  const std::lock_guard lock(t.m);
  for (const auto& [at, a] : t.all) check(a);
}
std::size_t memory_used() { return table().used; }

} // namespace emu

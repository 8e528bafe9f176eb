// Threads of a device as fibers: each runs until it waits, block by block.
#include "fibers.hpp"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sched.h>
#include <thread>

namespace emu {

__thread fiber* self = nullptr;
const launch* volatile running = nullptr;

namespace {
void make_ready(worker& w, fiber* f) {
  f->state = fiber_state::runnable;
  w.ready.push_back(f);
}

fiber* next_ready(worker& w) {
  fiber* f = w.ready[w.ready_at++];
  if (w.ready_at == w.ready.size()) {
    w.ready.clear();
    w.ready_at = 0;
  } else if (w.ready_at > 4096) {
    w.ready.erase(w.ready.begin(), w.ready.begin() + long(w.ready_at));
    w.ready_at = 0;
  }
  return f;
}
/// Others run; for one that has ended the scheduler must, as its stack goes.
void to_scheduler() {
  fiber* f = self;
  worker& w = my_worker();
  if (f->state != fiber_state::ended && w.ready_at < w.ready.size()) {
    self = next_ready(w);
    if (self != f) emu_switch(&f->sp, self->sp);
  } else {
    emu_switch(&f->sp, w.home);
  }
}

/// All lanes of a group have arrived: they go on.
void complete(full_block& b, warp_state& w, unsigned warp, warp_group* g) {
  if (w.current == g && w.open.size() == 1)
    w.open.clear();
  else
    std::erase(w.open, g);
  w.current = w.open.empty() ? nullptr : w.open.back();
  g->left = std::popcount(g->arrived);
  const unsigned waiting = g->arrived;
  const auto wake = [&](unsigned lane) {
    fiber& f = b.fibers[warp * 32 + lane];
    if (f.state == fiber_state::in_warp) make_ready(*b.runs, &f);
  };
  if (options().order == thread_order::reverse) {
    for (int l = 31; l >= 0; --l)
      if ((waiting >> l & 1) != 0) wake(unsigned(l));
  } else {
    for (unsigned l = 0; l < 32; ++l)
      if ((waiting >> l & 1) != 0) wake(l);
  }
}

/// All threads of a block are at its barrier, which lets them go on.
void open_barrier(full_block& b) {
  const unsigned slot = b.generation & 1;
  b.result_or[slot] = b.acc_or;
  b.result_and[slot] = b.acc_and;
  b.result_count[slot] = b.acc_count;
  b.acc_or = b.acc_count = 0;
  b.acc_and = 1;
  b.arrived = 0;
  ++b.generation;
  if (options().order == thread_order::reverse)
    std::reverse(b.waiting.begin(), b.waiting.end());
  else if (options().order == thread_order::random)
    std::shuffle(b.waiting.begin(), b.waiting.end(), b.runs->random);
  for (fiber* f : b.waiting) make_ready(*b.runs, f);
  b.waiting.clear();
}

void thread_ended(fiber* f) {
  full_block& b = block_of(f);
  f->state = fiber_state::ended;
  if (!f->copies.empty() || !f->committed.empty())
    fail("a thread ends with asynchronous copies that nobody waited for");
  --b.live;
  warp_state& w = b.warps[f->warp];
  w.live &= ~(1u << f->lane);
  if (!w.open.empty()) {
    const auto open = w.open;
    for (warp_group* g : open)
      if ((g->mask & w.live & ~g->arrived) == 0) complete(b, w, f->warp, g);
  }
  if (b.live > 0 && b.arrived == b.live) open_barrier(b);
}

void fiber_main() {
  fiber* f = self;
  full_block& b = block_of(f);
  worker& w = *b.runs;
  for (;;) {
    b.what->invoke(b.what->closure);
    thread_ended(f);
    if (w.ready_at < w.ready.size() || b.next == b.threads) break;
    // The next thread, on the same stack.
    const int t = b.start_order.empty() ? b.next : b.start_order[std::size_t(b.next)];
    ++b.next;
    --w.live;
    fiber* next = &b.fibers[std::size_t(t)];
    next->stack = f->stack;
    f->stack = nullptr;
    next->state = fiber_state::runnable;
    self = f = next;
  }
  to_scheduler();
  std::abort();
}

void start(worker& w, full_block& b, int t) {
  fiber& f = b.fibers[std::size_t(t)];
  f.stack = w.take_stack();
  f.state = fiber_state::runnable;
  // Stacks begin at different places of their pages, as caches are not told apart by higher bits.
  char* top = f.stack + options().stack_bytes - 64 - (t * 320 + t / 32 * 64) % 4096;
  void** sp = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15});
  *--sp = nullptr; // fiber_main's return address
  *--sp = reinterpret_cast<void*>(&fiber_main);
  for (int i = 0; i < 6; ++i) *--sp = nullptr;
  f.sp = sp;
}

/// Shared memory that nobody has written: `bytes` of the dynamic kind, and no variables yet.
void prepare_shared(full_block& b, std::size_t bytes) {
  b.dynamic_bytes = bytes;
  if (bytes > 0) {
    const std::size_t need = bytes + guard_bytes + 128;
    if (b.dynamic_room.size() < need) b.dynamic_room.resize(need);
    b.dynamic = reinterpret_cast<char*>(
        (reinterpret_cast<std::uintptr_t>(b.dynamic_room.data()) + 127) & ~std::uintptr_t{127});
    std::memset(b.dynamic, options().fill, bytes);
    std::memset(b.dynamic + bytes, guard_value, guard_bytes);
  } else {
    b.dynamic = nullptr;
  }
  for (const auto& p : b.pieces) b.slot_table[std::size_t(p.id)] = nullptr;
  b.pieces.clear();
  b.arena_used = 0;
  b.slots = b.slot_table.data();
  b.slot_count = int(b.slot_table.size());
}

/// Block `number` of a launch, before its first thread.
void prepare(worker& w, full_block& b, const launch& l, std::uint64_t number) {
  const dim3 g = l.c.grid, t = l.c.block;
  b.what = &l;
  b.runs = &w;
  b.grid = g;
  b.block = t;
  b.index = {unsigned(number % g.x), unsigned(number / g.x % g.y), unsigned(number / g.x / g.y)};
  b.threads = int(t.x * t.y * t.z);
  b.live = b.threads;
  b.next = b.arrived = 0;
  b.acc_or = b.acc_count = 0;
  b.acc_and = 1;
  b.generation = 0;
  b.waiting.clear();
  if (int(b.fibers.size()) < b.threads) b.fibers.resize(std::size_t(b.threads));
  const unsigned warps = unsigned(b.threads + 31) / 32;
  if (b.warps.size() < warps) b.warps.resize(warps);
  for (unsigned i = 0; i < warps; ++i) {
    b.warps[i].live =
        b.threads - int(i) * 32 >= 32 ? 0xffffffffu : (1u << (b.threads - int(i) * 32)) - 1;
  }
  for (int i = 0; i < b.threads && b.serial != l.serial; ++i) {
    fiber& f = b.fibers[std::size_t(i)];
    const unsigned u = unsigned(i);
    f.block = &b;
    f.linear = u;
    f.thread = {u % t.x, u / t.x % t.y, u / t.x / t.y};
    f.lane = u % 32;
    f.warp = u / 32;
    f.state = fiber_state::not_begun;
    f.ticks = u * 5;
    f.where = nullptr;
  }
  b.serial = l.serial;
  prepare_shared(b, l.c.shared);
  b.start_order.clear();
  if (options().order != thread_order::forward) {
    for (int i = 0; i < b.threads; ++i) b.start_order.push_back(b.threads - 1 - i);
    if (options().order == thread_order::random)
      std::shuffle(b.start_order.begin(), b.start_order.end(), w.random);
  }
}
void finish(const full_block& b) {
  if (b.dynamic != nullptr && !guard_intact(b.dynamic + b.dynamic_bytes))
    fail("a block wrote past the end of its dynamic shared memory");
  for (const auto& p : b.pieces)
    if (!guard_intact(p.at + p.bytes)) fail("a block wrote past the end of a __shared__ variable");
}

const char* name_of(warp_call kind) {
  static const char* const names[] = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
      "__match_any_sync",  "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync",
      "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
  return names[std::size_t(kind)];
}

/// Where the lanes of a warp wait.
void print_warp(const full_block& b, std::size_t warp) {
  const warp_state& w = b.warps[warp];
  unsigned at_barrier = 0;
  std::map<const void*, unsigned> lanes_at;
  for (std::size_t lane = 0; lane < 32 && warp * 32 + lane < std::size_t(b.threads); ++lane) {
    const fiber& f = b.fibers[warp * 32 + lane];
    if (f.state == fiber_state::at_barrier) at_barrier |= 1u << lane;
    if (f.state == fiber_state::at_barrier || f.state == fiber_state::in_warp)
      lanes_at[f.where] |= 1u << lane;
  }
  std::fprintf(stderr, "emulator:  warp %zu: live %08x, at __syncthreads %08x", warp, w.live,
               at_barrier);
  for (const warp_group* g : w.open)
    std::fprintf(stderr, ", %s(mask %08x) has %08x", name_of(g->kind), g->mask, g->arrived);
  std::fprintf(stderr, "\n");
  for (const auto& [place, lanes] : lanes_at)
    std::fprintf(stderr, "emulator:   lanes %08x at %s\n", lanes, place_of(place).c_str());
}

/// Tells of the first block that waits: its warps inside of a warp's call, or all if there are
/// none.
[[noreturn]] void deadlock(const worker& w, std::size_t blocks) {
  const auto first = std::find_if(w.blocks.begin(), w.blocks.begin() + long(blocks),
                                  [](const auto& b) { return b->live > 0; });
  const full_block& b = **first;
  std::fprintf(stderr, "emulator: deadlock in kernel %s\n", running->name);
  std::fprintf(stderr, "emulator: block (%u, %u, %u): %d of %d threads live, %d at __syncthreads\n",
               b.index.x, b.index.y, b.index.z, b.live, b.threads, b.arrived);
  const std::size_t warps = std::size_t(b.threads + 31) / 32;
  const bool some_meet = std::any_of(b.warps.begin(), b.warps.begin() + long(warps),
                                     [](const auto& s) { return !s.open.empty(); });
  int shown = 0;
  for (std::size_t i = 0; i < warps && shown < 6; ++i)
    if (b.warps[i].live != 0 && !(some_meet && b.warps[i].open.empty())) {
      print_warp(b, i);
      ++shown;
    }
  std::fflush(nullptr);
  std::abort();
}

/// The first `count` blocks of the worker's, together.
void run_blocks(worker& w, std::size_t count) {
  w.ready.clear();
  w.yielded.clear();
  w.ready_at = 0;
  std::size_t begun = 0; // blocks whose threads have all been started
  unsigned idle = 0;
  w.live = 0;
  for (std::size_t k = 0; k < count; ++k) w.live += w.blocks[k]->threads;
  while (w.live > 0) {
    fiber* f = nullptr;
    while (begun < count && w.blocks[begun]->next == w.blocks[begun]->threads) ++begun;
    if (w.ready_at < w.ready.size()) {
      f = next_ready(w);
    } else if (begun < count) {
      full_block& b = *w.blocks[begun];
      const int t = b.start_order.empty() ? b.next : b.start_order[std::size_t(b.next)];
      start(w, b, t);
      f = &b.fibers[std::size_t(t)];
      ++b.next;
    } else if (!w.yielded.empty()) {
      std::swap(w.ready, w.yielded);
      w.ready_at = 0;
      if (++idle % 4 == 0) sched_yield();
      continue;
    } else {
      deadlock(w, count);
    }
    self = f;
    emu_switch(&w.home, f->sp);
    f = self;
    self = nullptr;
    if (f->state == fiber_state::ended) {
      w.stacks.push_back(f->stack);
      f->stack = nullptr;
      --w.live;
    }
  }
}

// ---- Launches ----------------------------------------------------------------------------------
/// The threads of the system that take blocks beside the one that launches.
struct other_threads {
  std::mutex m;
  std::condition_variable work, done;
  const launch* what = nullptr;
  std::uint64_t blocks = 0, turn = 0;
  std::atomic<std::uint64_t> next{0};
  int busy = 0, started = 0;

  void take_blocks(const launch& l, std::uint64_t n) {
    worker& w = my_worker();
    if (w.blocks.empty()) w.blocks.push_back(std::make_unique<full_block>());
    for (;;) {
      const std::uint64_t i = next.fetch_add(1);
      if (i >= n) return;
      prepare(w, *w.blocks[0], l, i);
      run_blocks(w, 1);
      finish(*w.blocks[0]);
    }
  }
  void loop() {
    std::uint64_t seen = 0;
    for (;;) {
      const launch* l = nullptr;
      std::uint64_t n = 0;
      {
        std::unique_lock lock(m);
        work.wait(lock, [&] { return turn != seen; });
        seen = turn;
        l = what;
        n = blocks;
      }
      take_blocks(*l, n);
      {
        const std::lock_guard lock(m);
        if (--busy == 0) done.notify_all();
      }
    }
  }
  void run(const launch& l, std::uint64_t n) {
    next = 0;
    const bool together = options().threads > 1 && n >= 4;
    if (together) {
      const std::lock_guard lock(m);
      for (; started < options().threads - 1; ++started) std::thread([this] { loop(); }).detach();
      what = &l;
      blocks = n;
      busy = started;
      ++turn;
      work.notify_all();
    }
    take_blocks(l, n);
    if (together) {
      std::unique_lock lock(m);
      done.wait(lock, [&] { return busy == 0; });
    }
  }
};
other_threads& pool() {
  static auto* const p = new other_threads;
  return *p;
}
std::mutex& device_mutex() {
  static auto* const m = new std::mutex;
  return *m;
}
} // namespace

void execute(launch l) {
  const std::lock_guard lock(device_mutex());
  static std::uint64_t launches = 0;
  l.serial = ++launches;
  const device_access access;
  if (options().trace)
    std::fprintf(stderr, "emulator: launch (%u, %u, %u) x (%u, %u, %u) %zu %.120s\n", l.c.grid.x,
                 l.c.grid.y, l.c.grid.z, l.c.block.x, l.c.block.y, l.c.block.z, l.c.shared, l.name);
  running = &l;
  const std::uint64_t n = std::uint64_t(l.c.grid.x) * l.c.grid.y * l.c.grid.z;
  if (l.c.cooperative) {
    worker& w = my_worker();
    while (w.blocks.size() < n) w.blocks.push_back(std::make_unique<full_block>());
    for (std::uint64_t i = 0; i < n; ++i) prepare(w, *w.blocks[i], l, i);
    run_blocks(w, n);
    for (std::uint64_t i = 0; i < n; ++i) finish(*w.blocks[i]);
    if (w.blocks.size() > 4) w.blocks.resize(4);
  } else {
    pool().run(l, n);
  }
  if (options().check) check_guards();
  running = nullptr;
}

// ---- Called by device code ---------------------------------------------------------------------
void* shared_slow(slot& s, std::size_t bytes, std::size_t align) {
  static std::atomic<int> ids{0};
  full_block& b = block_of(self);
  int id = s.id.load();
  if (id == 0) {
    const int made = ++ids;
    if (s.id.compare_exchange_strong(id, made)) id = made;
  }
  if (std::size_t(id) >= b.slot_table.size()) b.slot_table.resize(std::size_t(id) + 64);
  b.slots = b.slot_table.data();
  b.slot_count = int(b.slot_table.size());
  if (b.slots[id] == nullptr) {
    if (b.arena == nullptr) b.arena.reset(new char[arena_bytes + 128]);
    const std::size_t a = std::max<std::size_t>(align, 16);
    char* base = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(b.arena.get()) + 127) &
                                         ~std::uintptr_t{127});
    const std::size_t at = (b.arena_used + a - 1) / a * a;
    if (at + bytes + guard_bytes > arena_bytes) fail("too much static shared memory");
    std::memset(base + at, options().fill, bytes);
    std::memset(base + at + bytes, guard_value, guard_bytes);
    b.arena_used = at + bytes + guard_bytes;
    b.slots[id] = base + at;
    b.pieces.push_back({id, base + at, bytes});
  }
  return b.slots[id];
}

void block_barrier(int v_or, int v_and, int v_count, int* r_or, int* r_and, int* r_count) {
  fiber* f = self;
  full_block& b = block_of(f);
  b.acc_or |= v_or;
  b.acc_and &= v_and;
  b.acc_count += v_count;
  const unsigned slot = b.generation & 1;
  ++b.arrived;
  f->where = __builtin_return_address(0);
  const bool last = b.arrived == b.live;
  if (last && !options().jitter) {
    open_barrier(b);
  } else {
    f->state = fiber_state::at_barrier;
    b.waiting.push_back(f);
    if (last) open_barrier(b);
    to_scheduler();
  }
  if (r_or != nullptr) *r_or = b.result_or[slot];
  if (r_and != nullptr) *r_and = b.result_and[slot];
  if (r_count != nullptr) *r_count = b.result_count[slot];
}

warp_group* arrive(unsigned mask, warp_call kind, const void* value, unsigned size, bool vote) {
  fiber* f = self;
  full_block& b = block_of(f);
  warp_state& w = b.warps[f->warp];
  f->where = __builtin_return_address(0);
  if ((mask >> f->lane & 1) == 0)
    fail("a lane calls a warp's instruction with a mask without it", f->where);
  warp_group* g = w.current;
  if (g != nullptr && g->mask != mask) {
    g = nullptr;
    for (warp_group* o : w.open)
      if (o->mask == mask) g = o;
  }
  if (g == nullptr) {
    if (w.free.empty()) {
      w.all.push_back(std::make_unique<warp_group>());
      w.free.push_back(w.all.back().get());
    }
    g = w.free.back();
    w.free.pop_back();
    g->mask = mask;
    g->arrived = g->votes = 0;
    g->kind = kind;
    g->size = int(size);
    w.open.push_back(g);
    w.current = g;
  } else if (g->kind != kind || g->size != int(size)) {
    std::fprintf(stderr, "emulator: %s of %d bytes and %s of %u\n", name_of(g->kind), g->size,
                 name_of(kind), size);
    for (unsigned l = 0; l < 32; ++l)
      if ((g->arrived >> l & 1) != 0) {
        std::fprintf(stderr, "emulator: lane %u waits at %s\n", l,
                     place_of(b.fibers[f->warp * 32 + l].where).c_str());
        break;
      }
    fail("lanes of a warp meet in different instructions", f->where);
  }
  g->arrived |= 1u << f->lane;
  if (vote) g->votes |= 1u << f->lane;
  if (size > 0) std::memcpy(g->value[f->lane], value, size);
  const bool last = (g->mask & w.live & ~g->arrived) == 0;
  if (last && !options().jitter) {
    complete(b, w, f->warp, g);
  } else {
    f->state = fiber_state::in_warp;
    if (last) complete(b, w, f->warp, g);
    to_scheduler();
  }
  return g;
}
void release(warp_group* g) { block_of(self).warps[self->warp].free.push_back(g); }

void yield_now() {
  if (self == nullptr) return;
  my_worker().yielded.push_back(self);
  to_scheduler();
}

} // namespace emu

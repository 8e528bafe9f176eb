// Internal: what the scheduler runs: fibers, their blocks, and the threads of the system below
// them.
#pragma once

#include <random>

#include "emulator.hpp"

namespace emu {

/// Goes on where `to` was left; `*save` is where to go on here. Registers that a call keeps are
/// kept.
extern "C" void emu_switch(void** save, void* to);

struct warp_state {
  unsigned live = 0;
  warp_group* current = nullptr; // the open group, where there is one
  std::vector<warp_group*> open; // not complete
  std::vector<std::unique_ptr<warp_group>> all;
  std::vector<warp_group*> free;
};

struct worker;
/// A block and what its threads have in common.
struct full_block : block_state {
  const launch* what = nullptr;
  worker* runs = nullptr;
  int threads = 0, live = 0, next = 0, arrived = 0;
  int acc_or = 0, acc_and = 1, acc_count = 0;
  int result_or[2]{}, result_and[2]{}, result_count[2]{};
  unsigned generation = 0;
  std::vector<fiber> fibers;
  std::vector<fiber*> waiting;
  std::vector<warp_state> warps;
  std::vector<void*> slot_table;
  struct piece {
    int id;
    char* at;
    std::size_t bytes;
  };
  std::vector<piece> pieces;
  std::unique_ptr<char[]> arena;
  std::size_t arena_used = 0;
  std::vector<char> dynamic_room;
  std::vector<int> start_order;
  std::uint64_t serial = 0; // of the launch that fibers are prepared for
};
constexpr std::size_t arena_bytes = 1 << 20;

/// A thread of the system that runs blocks; `home` is its own stack.
struct worker {
  void* home = nullptr;
  std::vector<char*> stacks;
  std::vector<fiber*> ready, yielded;
  std::size_t ready_at = 0;
  int live = 0;
  std::vector<std::unique_ptr<full_block>> blocks;
  std::mt19937 random{options().seed};
  std::vector<char> signal_stack;
  char* take_stack();
};

/// The calling thread's.
worker& my_worker();
inline full_block& block_of(fiber* f) { return *static_cast<full_block*>(f->block); }

} // namespace emu

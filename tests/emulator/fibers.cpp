// Stacks of fibers, and how one goes on where another stops.
#include "fibers.hpp"

#include <cstdlib>
#include <mutex>
#include <sys/mman.h>

namespace emu {

asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch,@function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch,.-emu_switch
)");

namespace {
__thread worker* mine __attribute__((tls_model("initial-exec"))) = nullptr;

/// Workers of threads that are gone, with their stacks, for those to come: a process may not have
/// many mappings.
std::mutex idle_lock;
std::vector<worker*> idle_workers;
struct gives_worker_back {
  ~gives_worker_back() {
    const std::lock_guard guard(idle_lock);
    idle_workers.push_back(mine);
    mine = nullptr;
  }
};
} // namespace

char* worker::take_stack() {
  if (stacks.empty()) {
    constexpr int many = 64;
    const std::size_t step = options().stack_bytes + page_bytes;
    char* p = static_cast<char*>(mmap(nullptr, step * many, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (p == MAP_FAILED) std::abort();
    for (int i = 0; i < many; ++i) {
      mprotect(p + i * step, page_bytes, PROT_NONE);
      stacks.push_back(p + i * step + page_bytes);
    }
  }
  char* s = stacks.back();
  stacks.pop_back();
  return s;
}

worker& my_worker() {
  if (mine == nullptr) {
    {
      const std::lock_guard guard(idle_lock);
      if (!idle_workers.empty()) {
        mine = idle_workers.back();
        idle_workers.pop_back();
      }
    }
    if (mine == nullptr) mine = new worker;
    static thread_local const gives_worker_back at_its_end;
    report_faults(mine->signal_stack);
  }
  return *mine;
}

} // namespace emu

// What is said before the emulator gives up.
#include "emulator.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <mutex>
#include <signal.h>
#include <ucontext.h>

namespace emu {

std::string place_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0) return "?";
  const long offset =
      long(static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase)) - 1;
  char command[600], line[400] = "";
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%lx 2>/dev/null", info.dli_fname,
                offset);
  std::string result, last;
  if (FILE* p = popen(command, "r")) {
    while (std::fgets(line, sizeof line, p) != nullptr) {
      last = line;
      if (last.back() == '\n') last.pop_back();
      if (last.find("/tests/emulator/include/") != std::string::npos) continue;
      result += (result.empty() ? "" : " < ") + last;
    }
    pclose(p);
  }
  if (result.empty()) return last; // an intrinsic that was not inlined
  return result;
}

namespace {
void where(const char* what) {
  std::fprintf(stderr, "emulator: %s\n", what);
  if (running != nullptr) std::fprintf(stderr, "emulator: kernel %s\n", running->name);
  if (self != nullptr)
    std::fprintf(stderr,
                 "emulator: block (%u, %u, %u) of (%u, %u, %u), thread (%u, %u, %u) of %u\n",
                 self->block->index.x, self->block->index.y, self->block->index.z,
                 self->block->grid.x, self->block->grid.y, self->block->grid.z, self->thread.x,
                 self->thread.y, self->thread.z, self->block->block.x);
}
} // namespace
void fail(const char* what, const void* at) {
  where(what);
  if (at != nullptr) std::fprintf(stderr, "emulator: at %s\n", place_of(at).c_str());
  std::fflush(nullptr);
  std::abort();
}
namespace {
void on_fault(int number, siginfo_t* info, void* context) {
  const auto* c = static_cast<ucontext_t*>(context);
  char text[200];
  const char* address = static_cast<char*>(info->si_addr);
  const bool overflow = self != nullptr && self->stack != nullptr && address < self->stack &&
                        address >= self->stack - page_bytes;
  std::snprintf(text, sizeof text, "signal %d at address %p%s", number, info->si_addr,
                overflow ? " (stack of a device thread; LACUNA_EMULATOR_STACK=bytes)"
                : is_protected(address) && self == nullptr
                    ? " (the host reads or writes device memory)"
                    : "");
  where(text);
  std::fprintf(stderr, "emulator: at %s\n",
               place_of(reinterpret_cast<void*>(c->uc_mcontext.gregs[REG_RIP] + 1)).c_str());
  signal(number, SIG_DFL);
  raise(number);
}
} // namespace

void report_faults(std::vector<char>& stack) {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
      struct sigaction before = {};
      struct sigaction now = {};
      sigaction(number, nullptr, &before);
      if (before.sa_handler != SIG_DFL) continue;
      now.sa_sigaction = on_fault;
      now.sa_flags = SA_SIGINFO | SA_ONSTACK;
      sigaction(number, &now, nullptr);
    }
  });
  stack.resize(256 * 1024);
  stack_t s{};
  s.ss_sp = stack.data();
  s.ss_size = stack.size();
  sigaltstack(&s, nullptr);
}

} // namespace emu

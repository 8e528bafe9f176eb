// Asynchronous copies. They are done when they are waited for, as late as a device may do them.
#pragma once
#include "device.hpp"

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes,
                                    std::size_t zeros = 0) {
  if (zeros == 0) emu::self->copies.push_back({to, from, unsigned(bytes)});
}
inline void __pipeline_commit() {
  auto& f = *emu::self;
  f.committed.insert(f.committed.end(), f.copies.begin(), f.copies.end());
  f.copies.clear();
}
inline void __pipeline_wait_prior(std::size_t) {
  auto& f = *emu::self;
  for (const auto& c : f.committed) std::memcpy(c.to, c.from, c.bytes);
  f.committed.clear();
}

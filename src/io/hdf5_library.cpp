#ifdef LACUNA_HAS_HDF5

#include "io/hdf5_library.hpp"

#include <dlfcn.h>

#include <lacuna/core/error.hpp>

// A name after its macros, for HDF5 has some: H5Lget_info is H5Lget_info2 in version 1.12.
#define LACUNA_SPELL(name) LACUNA_SPELL_AS_IS(name)
#define LACUNA_SPELL_AS_IS(name) #name

namespace lacuna::io {

#define LACUNA_DEFINE(name) decltype(&::name) name = nullptr;
LACUNA_HDF5_FUNCTIONS(LACUNA_DEFINE)
#undef LACUNA_DEFINE
#define LACUNA_DEFINE(name) hid_t name = H5I_INVALID_HID;
LACUNA_HDF5_IDS(LACUNA_DEFINE)
#undef LACUNA_DEFINE

namespace {

[[noreturn]] void refuse(const std::string& file) {
  const char* const reason = ::dlerror();
  throw unsupported("this file needs HDF5, which cannot be loaded: " +
                        std::string(reason == nullptr ? LACUNA_HDF5_LIBRARY : reason),
                    file, 0);
}

bool load(const std::string& file) {
  // Stays loaded: HDF5 does its last work when the process ends.
  void* const library = ::dlopen(LACUNA_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(file);
  const auto find = [&](const char* name) {
    void* const symbol = ::dlsym(library, name);
    if (symbol == nullptr) refuse(file);
    return symbol;
  };
#define LACUNA_LOAD(name) name = reinterpret_cast<decltype(name)>(find(LACUNA_SPELL(name)));
  LACUNA_HDF5_FUNCTIONS(LACUNA_LOAD)
#undef LACUNA_LOAD
  if (H5open() < 0) refuse(file); // gives the ids their values
#define LACUNA_LOAD(name) name = *static_cast<const hid_t*>(find(LACUNA_SPELL(name)));
  LACUNA_HDF5_IDS(LACUNA_LOAD)
#undef LACUNA_LOAD
  return true;
}

} // namespace

void load_hdf5(const std::string& file) { [[maybe_unused]] static const bool loaded = load(file); }

} // namespace lacuna::io

#endif

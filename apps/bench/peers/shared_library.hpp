// A library loaded at run time: peers that need not be there when the benchmark is built.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <string>
#include <vector>

#include <lacuna/core/error.hpp>

namespace lacuna::bench {

class shared_library {
public:
  /// The first of the paths that loads. A bare name is searched as the loader does.
  static shared_library first_of(const std::vector<std::string>& paths, int flags) {
    shared_library library;
    for (const auto& path : paths) {
      library.handle_ = dlopen(path.c_str(), RTLD_NOW | flags);
      if (library.handle_ == nullptr) {
        const std::string why = dlerror();
        if (why.find("No such file") == std::string::npos || why.find(path + ":") != 0)
          library.trouble_ = ": " + why; // it is there, and does not load
        continue;
      }
      link_map* loaded = nullptr; // knows where a bare name was found
      library.path_ =
          dlinfo(library.handle_, RTLD_DI_LINKMAP, &loaded) == 0 ? loaded->l_name : path;
      break;
    }
    return library;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  /// ": why" if a library was found and did not load; empty otherwise.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// nullptr if the library does not have it.
  template <class F> F* find(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  template <class F> F* symbol(const char* name) const {
    if (F* f = find<F>(name)) return f;
    throw unsupported(path_ + " has no " + name);
  }

private:
  // Never closed: threads of these libraries outlive their handles.
  void* handle_ = nullptr;
  std::string path_, trouble_;
};

} // namespace lacuna::bench

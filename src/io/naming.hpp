// Every failure to read or write a file names it.
#pragma once

#include <new>
#include <string>
#include <string_view>

#include <lacuna/core/error.hpp>
#include <lacuna/core/printable.hpp>

namespace lacuna::io {

/// Runs f; what it throws without a file gets this one's name.
template <class F> auto naming(const std::string& name, const F& f) {
  try {
    return f();
  } catch (const bad_input& e) {
    if (!e.file().empty()) throw;
    throw bad_input(e.what(), name, 0);
  } catch (const unsupported& e) {
    if (!e.file().empty()) throw;
    throw unsupported(e.what(), name, 0);
  } catch (const out_of_memory& e) {
    throw out_of_memory(detail::at_file(e.what(), name, 0), e.bytes());
  } catch (const std::bad_alloc&) {
    throw out_of_memory(detail::at_file("out of memory", name, 0), 0);
  } catch (const error& e) {
    if (e.kind() != std::string_view("error") ||
        std::string_view(e.what()).find(printable(name)) != std::string_view::npos)
      throw;
    throw failed(detail::at_file(e.what(), name, 0));
  }
}

} // namespace lacuna::io

// A matrix by its name: a file, "-" (standard input), or gen:NAME[:key=value,...].
#pragma once

#include <new>
#include <string>
#include <string_view>

#include <lacuna/core/error.hpp>
#include <lacuna/io/read.hpp>

namespace CLI {
class App;
}

namespace lacuna::app {

/// --duplicates, --complex and --member, for every command that reads a matrix.
void add_read_options(CLI::App& command, io::read_options& options);

/// Calls f. Sizes that do not fit and memory that runs out are told with the names of the matrices.
template <class F> auto naming(const std::string& names, F&& f) {
  const auto with_names = [&](const char* what) {
    return std::string_view(what).starts_with(names) ? what : names + ": " + what;
  };
  try {
    return f();
  } catch (const size_mismatch& e) {
    throw size_mismatch(with_names(e.what()));
  } catch (const out_of_memory& e) {
    throw out_of_memory(with_names(e.what()), e.bytes());
  } catch (const std::bad_alloc&) {
    throw out_of_memory(names + ": out of memory", 0);
  }
}

/// Of the narrowest widths that hold it; float or double. Throws what io::read and gen::generate
/// throw.
template <class T>
io::file_matrix<T> load_matrix(const host_context& ctx, const std::string& name,
                               const io::read_options& options, bool show_progress);

} // namespace lacuna::app

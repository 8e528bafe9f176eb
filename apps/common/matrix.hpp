// A matrix by its name: a file, "-" (standard input), or gen:NAME[:key=value,...].
#pragma once

#include <string>

#include <lacuna/io/read.hpp>

namespace CLI {
class App;
}

namespace lacuna::app {

/// --duplicates, --complex and --member, for every command that reads a matrix.
void add_read_options(CLI::App& command, io::read_options& options);

/// Of the narrowest widths that hold it; float or double. Throws what io::read and gen::generate
/// throw.
template <class T>
io::file_matrix<T> load_matrix(const host_context& ctx, const std::string& name,
                               const io::read_options& options, bool show_progress);

} // namespace lacuna::app

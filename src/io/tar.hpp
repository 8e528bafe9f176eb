// A file inside a tar archive (POSIX ustar and pax, GNU long names), as a stream.
#pragma once

#include <functional>

#include "io/byte_stream.hpp"

namespace lacuna::io {

/// Goes through the archive until `wanted(path)` says yes and gives that file's bytes. Throws
/// bad_input if there is none (with what there is) or the archive is broken.
std::unique_ptr<byte_stream> open_in_tar(std::unique_ptr<byte_stream> archive,
                                         const std::string& name,
                                         const std::function<bool(const std::string&)>& wanted);

} // namespace lacuna::io

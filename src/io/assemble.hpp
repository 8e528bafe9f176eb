// assemble() with a say in what becomes of a coordinate that is stored twice.
#pragma once

#include <functional>

#include <lacuna/io/read.hpp>

namespace lacuna::io {

/// Called with the first such coordinate if the rule is error; throws.
using repeated_entry = std::function<void(std::int64_t row, std::int64_t col)>;

template <class T>
any_csr<T> assemble(const host_context& ctx, file_triplets<T> entries, duplicates rule,
                    const repeated_entry& repeated);

} // namespace lacuna::io

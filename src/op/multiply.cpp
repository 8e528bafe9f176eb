#include <lacuna/op/multiply.hpp>

namespace lacuna::detail {

void require_product_sizes(std::int64_t rows, std::int64_t cols, bool transposed, column_sizes x,
                           const column_sizes* z, column_sizes y) {
  const auto named = [](const char* vector, const char* dense, const column_sizes& v) {
    return v.vector ? vector : dense;
  };
  require_same_size("multiply", named("x", "rows of X", x), x.rows,
                    transposed ? "rows of A" : "columns of A", cols);
  require_same_size("multiply", named("y", "rows of Y", y), y.rows,
                    transposed ? "columns of A" : "rows of A", rows);
  require_same_size("multiply", "columns of X", x.columns, "columns of Y", y.columns);
  if (z == nullptr) return;
  require_same_size("multiply", named("z", "rows of Z", *z), z->rows, named("y", "rows of Y", y),
                    y.rows);
  require_same_size("multiply", "columns of Z", z->columns, "columns of Y", y.columns);
}

} // namespace lacuna::detail

// The right use of everything that the programs beside this one get wrong: must compile.
#include <lacuna/lacuna.hpp>

#include <span>
#include <vector>

void right(const lacuna::host_context& ctx, const lacuna::csr<double>& a, lacuna::csr<double>& b,
           const lacuna::csr_view<const float, std::int32_t, std::int64_t>& wide,
           const std::vector<double>& x, std::vector<double>& y, std::vector<float>& f) {
  lacuna::multiply(ctx, a, x, y);
  lacuna::multiply(a, x, y);
  lacuna::multiply(a, x, std::span<double>(y)); // a temporary view is no temporary vector
  lacuna::multiply(a, x, lacuna::vector_view<double>(y));
  lacuna::multiply(lacuna::scaled(2, a), x, lacuna::scaled(3, y), y);
  lacuna::multiply(ctx, lacuna::transposed(a), y, b.values());
  lacuna::multiply(wide, f, f);
  lacuna::transpose(ctx, lacuna::transpose_inspect(a, b), a, b);
  lacuna::transpose(ctx, lacuna::transpose_inspect(a, b), a, b.view());
  lacuna::axpby(ctx, 1, x, 2, y);
  lacuna::scale(ctx, 2, b);
  lacuna::fill(ctx, 2, y);
  auto copy = lacuna::copy_to(ctx, a);
  auto moved = std::move(copy);
  lacuna::sort(ctx, moved);
}

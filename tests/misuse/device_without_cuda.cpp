// Device memory in a build without CUDA.
// expect: lacuna: this Lacuna was built without CUDA; device memory cannot be used
#include <lacuna/lacuna.hpp>

using namespace lacuna;
void wrong(const device_context& ctx,
           const csr<double, std::int32_t, std::int32_t, space::device>& a,
           const array<double, space::device>& x, array<double, space::device>& y) {
  multiply(ctx, a, x, y);
}

#include <lacuna/io/write.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/op/transpose.hpp>

#include "io/file_kind.hpp"
#include "io/formats.hpp"
#include "io/matrix_market.hpp"
#include "io/naming.hpp"
#include "io/pack.hpp"

namespace lacuna::io {
namespace {

[[noreturn]] void throw_unknown_ending(const std::string& path) {
  throw bad_input(fmt::format("no format has this ending; writable are {}", writable_endings), path,
                  0);
}

/// Archives and HDF5 go back to what they have written.
output_file::access access_for(file_kind kind) {
  return kind == file_kind::matrix_market ? output_file::access::in_order
                                          : output_file::access::anywhere;
}

/// The lower triangle alone says all only if this holds, bit by bit. Costs two transpositions,
/// which also sort the rows.
template <class T, class I, class O>
bool has_structure(const host_context& ctx, csr_view<const T, I, O> a, symmetry s) {
  if (a.shape().row != a.shape().col) return false;
  const auto t = transpose(ctx, a);
  const auto sorted = transpose(ctx, t);
  const auto same = [](const auto& x, const auto& y) {
    return x.empty() ||
           std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof x[0]) == 0;
  };
  if (!same(t.rowptr(), sorted.rowptr()) || !same(t.colind(), sorted.colind())) return false;
  if (s != symmetry::skew_symmetric) return same(t.values(), sorted.values());
  for (std::int64_t k = 0; k < t.size(); ++k)
    if (t.values()[k] != -sorted.values()[k]) return false;
  return true;
}

template <class T, class I, class O>
void require_structure(const host_context& ctx, const matrix_parts<T, I, O>& a, symmetry s,
                       const std::string& path) {
  if (s == symmetry::general) return;
  const symmetry of_imaginary = s == symmetry::hermitian ? symmetry::skew_symmetric : s;
  if (!has_structure(ctx, a.real, s) ||
      (a.complex && !has_structure(ctx, a.imaginary, of_imaginary)))
    throw bad_input(fmt::format("the matrix is not {}, as it was to be written", name_of(s)), path,
                    0);
}

template <class T, class I, class O>
void write_parts(const host_context& ctx, const std::string& path, const matrix_parts<T, I, O>& a,
                 const write_options& o) {
  const file_kind kind = kind_to_write(path);
  if (kind == file_kind::unknown) throw_unknown_ending(path);
  if (kind != file_kind::npz && kind != file_kind::mat)
    require_structure(ctx, a, o.structure, path);
  const compression packed = packing_of_name(path);
  output_file file(path, access_for(kind));
  naming(path == "-" ? "standard output" : path, [&] {
    switch (kind) {
    case file_kind::npz: write_npz(ctx, file, a, o); break;
    case file_kind::mat: write_mat(ctx, file, a, o); break;
    case file_kind::binsparse: write_binsparse(ctx, file, a, o); break;
    case file_kind::rutherford_boeing: write_rutherford_boeing(ctx, file, a, o); break;
    default: write_matrix_market(ctx, file, a, o, packed);
    }
  });
  file.commit();
}

} // namespace

template <class T, class I, class O>
void write(const host_context& ctx, const std::string& path, csr_view<const T, I, O> a,
           const write_options& options) {
  write_options o = options;
  if (o.values == field::complex) o.values = field::real;
  if (o.structure == symmetry::hermitian) o.structure = symmetry::symmetric;
  write_parts(ctx, path, matrix_parts<T, I, O>{a}, o);
}

template <class T, class I, class O>
void write_complex(const host_context& ctx, const std::string& path, csr_view<const T, I, O> real,
                   csr_view<const T, I, O> imaginary, const write_options& options) {
  const auto same = [](auto x, auto y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (real.shape().row != imaginary.shape().row || real.shape().col != imaginary.shape().col ||
      !same(real.rowptr(), imaginary.rowptr()) || !same(real.colind(), imaginary.colind()))
    throw bad_input("real and imaginary parts do not have the same pattern", path, 0);
  write_options o = options;
  o.values = field::complex;
  write_parts(ctx, path, matrix_parts<T, I, O>{real, imaginary, true}, o);
}

template <class T>
void write_vector(const host_context& ctx, const std::string& path, vector_view<const T> v) {
  const file_kind kind = kind_to_write(path);
  if (kind == file_kind::unknown) throw_unknown_ending(path);
  if (kind == file_kind::matrix_market || kind == file_kind::binsparse) {
    const compression packed = packing_of_name(path);
    output_file file(path, access_for(kind));
    if (kind == file_kind::matrix_market)
      write_matrix_market_vector(ctx, file, v, packed);
    else
      write_binsparse_vector(ctx, file, v);
    file.commit();
    return;
  }
  csr<T, std::int64_t, std::int64_t> column(ctx, {v.size(), 1}, v.size(), {true, true});
  for (std::int64_t i = 0; i < v.size(); ++i) {
    column.rowptr()[i] = i;
    column.colind()[i] = 0;
    column.values()[i] = v[i];
  }
  column.rowptr()[v.size()] = v.size();
  write(ctx, path, column);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write(const host_context&, const std::string&, csr_view<const T, I, O>,            \
                      const write_options&);                                                       \
  template void write_complex(const host_context&, const std::string&, csr_view<const T, I, O>,    \
                              csr_view<const T, I, O>, const write_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T)                                                                      \
  template void write_vector(const host_context&, const std::string&, vector_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::io

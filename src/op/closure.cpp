// The rounds of a closure. Products are the library's, and what is new the engines'
// (src/cpu/closure.cpp, src/gpu/closure.cu). Components come from the host
// (src/cpu/strong_components.cpp).
#include <lacuna/op/closure.hpp>

#include <optional>

#include <fmt/format.h>

#include "cpu/reorder_graph.hpp"
#include "cpu/strong_components.hpp"
#include <lacuna/op/add.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/spgemm_parts.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna {
namespace {

template <class T, class I, class O, space S> class closure_rounds {
public:
  closure_rounds(const context<S>& ctx, const csr<T, I, O, S>& a, const closure_options& options)
      : ctx_(ctx), options_(options), edges_(merge_duplicates(ctx, a)) {
    fill(ctx, 1, edges_.values());
    reached_ = to_dynamic_csr(ctx, edges_);
    done_.entries = reached_.size();
  }

  dynamic_csr<T, I, O, S> run() {
    for (csr<T, I, O, S> last = copy_to(ctx_, edges_); last.size() > 0;) {
      found_ = {};
      extend(last);
      last = std::move(found_);
      done_ = {done_.rounds + 1, std::int64_t{last.size()}, reached_.size()};
      if (options_.progress) options_.progress(done_);
    }
    return std::move(reached_);
  }
  [[nodiscard]] std::int64_t rounds() const { return done_.rounds; }

private:
  /// All that is one edge further than what the last round found.
  void extend(const csr<T, I, O, S>& last) {
    if (options_.memory_limit == 0)
      return merge(0, detail::multiply_sparse<std::int64_t>(ctx_, last, edges_, {}, true));
    const spgemm_options within{.memory_limit = room_left(last)};
    for_each_product_part(ctx_, last, edges_, within,
                          [&](std::int64_t first, csr<T, I, std::int64_t, S>&& part) {
                            merge(first, part);
                            part = {};
                            room_left(last);
                          });
  }
  /// Rows [first, …) of a product: what R does not have goes into it, and on.
  void merge(std::int64_t first, const csr<T, I, std::int64_t, S>& part) {
    csr<T, I, O, S> fresh;
    if constexpr (S == space::host)
      fresh = detail::cpu::new_entries<T, I, O>(ctx_, reached_.view(), first, part.view());
    else
      fresh = detail::gpu::new_entries<T, I, O>(ctx_, reached_.view(), first, part.view());
    if (fresh.size() == 0) return;
    fill(ctx_, 1, fresh.values());
    insert(ctx_, reached_, fresh, {existing::keep});
    found_ = found_.size() == 0 ? std::move(fresh) : add(ctx_, found_, fresh);
  }
  std::size_t room_left(const csr<T, I, O, S>& last) const {
    const std::size_t taken = edges_.bytes() + reached_.bytes() + last.bytes() + found_.bytes();
    if (taken >= options_.memory_limit)
      throw out_of_memory(fmt::format("closure: {} entries so far, in round {}, take {} bytes of "
                                      "the {} allowed",
                                      reached_.size(), done_.rounds + 1, taken,
                                      options_.memory_limit),
                          taken);
    return options_.memory_limit - taken;
  }
  const context<S>& ctx_;
  const closure_options& options_;
  csr<T, I, O, S> edges_, found_;
  dynamic_csr<T, I, O, S> reached_;
  closure_progress done_;
};

/// Where the host's part of the work goes.
template <space S> host_context on_host(const context<S>& ctx) {
  if constexpr (S == space::host)
    return ctx;
  else
    return host_context();
}

/// A graph with cycles as one whose vertices are its strongly connected components: vertices that
/// reach each other reach the same ones, and are reached by the same ones.
template <class T, class I, class O, space S> class closure_by_components {
public:
  closure_by_components(const context<S>& ctx, const csr_view<const T, I, O>& a,
                        const detail::cpu::components<I>& components)
      : ctx_(ctx), host_(on_host(ctx)), component_of_(components.of),
        count_(static_cast<I>(components.count)),
        members_(detail::cpu::list_members(host_, component_of_, count_)) {
    coo<T, I, O> edges(host_, {count_, count_}, a.size());
    for (I i = 0; i < a.shape().row; ++i)
      for (O k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
        edges.rowind()[k] = component_of_[i];
        edges.colind()[k] = component_of_[a.colind()[k]];
        edges.values()[k] = 1;
      }
    edges_ = copy_to(ctx, merge_duplicates(host_, to_csr(host_, edges)));
  }

  /// Nothing where R and what leads to it do not fit the memory limit: rounds over A's own edges
  /// take less beside R.
  std::optional<dynamic_csr<T, I, O, S>> run(const closure_options& options) {
    closure_rounds<T, I, O, S> closing(ctx_, edges_, options);
    const auto between = to_csr(ctx_, closing.run());
    edges_ = {};
    if (options.memory_limit != 0 && !has_room(between, options.memory_limit)) return std::nullopt;
    const auto reached = multiply_pattern(ctx_, between, rows_of_components());
    auto r = multiply_pattern(ctx_, component_of_vertices(), reached);
    if (options.progress)
      options.progress({closing.rounds() + 1, std::int64_t{r.size()} - between.size(), r.size()});
    return to_dynamic_csr(ctx_, std::move(r));
  }

private:
  [[nodiscard]] std::int64_t size_of(std::int64_t component) const {
    return members_.starts[component + 1] - members_.starts[component];
  }
  /// Whether R and the rows that it is made of fit beside `between`, which says what component
  /// reaches which. Throws out_of_memory if R alone does not.
  bool has_room(const csr<T, I, O, S>& between, std::size_t limit) const {
    const auto there = copy_to(host_, between);
    double rows = 0, r = 0; // entries, which 64 bits may not hold
    for (std::int64_t c = 0; c < count_; ++c) {
      double row = 0;
      for (O k = there.rowptr()[c]; k < there.rowptr()[c + 1]; ++k)
        row += static_cast<double>(size_of(there.colind()[k]));
      rows += row;
      r += row * static_cast<double>(size_of(c));
    }
    const double vertices = static_cast<double>(component_of_.size()),
                 entry = sizeof(T) + sizeof(I);
    const double r_bytes = r * entry + vertices * sizeof(O);
    if (r_bytes > static_cast<double>(limit))
      throw out_of_memory(fmt::format("closure: {:.0f} entries take {:.0f} bytes of the {} allowed",
                                      r, r_bytes, limit),
                          static_cast<std::size_t>(std::min(r_bytes, 9e18)));
    return r_bytes + rows * entry + static_cast<double>(count_) * sizeof(O) +
               static_cast<double>(between.bytes()) <=
           static_cast<double>(limit);
  }
  /// A row for each component: its vertices.
  csr<T, I, O, S> rows_of_components() const {
    const I n = static_cast<I>(component_of_.size());
    csr<T, I, O> m(host_, {count_, n}, static_cast<O>(n), {true, true});
    for (std::int64_t c = 0; c <= count_; ++c) m.rowptr()[c] = members_.starts[c];
    for (std::int64_t k = 0; k < n; ++k) m.colind()[k] = members_.members[k];
    return copy_to(ctx_, m);
  }
  /// A row for each vertex: its component.
  csr<T, I, O, S> component_of_vertices() const {
    const I n = static_cast<I>(component_of_.size());
    csr<T, I, O> m(host_, {n, count_}, static_cast<O>(n), {true, true});
    for (std::int64_t i = 0; i < n; ++i) {
      m.rowptr()[i] = static_cast<O>(i);
      m.colind()[i] = component_of_[i];
    }
    m.rowptr()[n] = static_cast<O>(n);
    return copy_to(ctx_, m);
  }

  const context<S>& ctx_;
  const host_context host_;
  const array<I>& component_of_;
  I count_;
  detail::cpu::grouping<I> members_;
  csr<T, I, O, S> edges_;
};

template <class T, class I, class O, space S>
coo<T, I, O, S> ones_on_diagonal(const context<S>& ctx, I n) {
  const host_context host = on_host(ctx);
  coo<T, I, O> ones(host, {n, n}, checked_cast<O>(n, "rows"), {true, true});
  for (std::int64_t i = 0; i < n; ++i) {
    ones.rowind()[i] = ones.colind()[i] = static_cast<I>(i);
    ones.values()[i] = 1;
  }
  return copy_to(ctx, ones);
}

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> reached_by_paths(const context<S>& ctx, const csr<T, I, O, S>& a,
                                         const closure_options& options) {
  const host_context host = on_host(ctx);
  csr<T, I, O> copy; // a device's matrix
  csr_view<const T, I, O> edges;
  if constexpr (S == space::host) {
    edges = a.view();
  } else {
    copy = copy_to(host, a);
    edges = std::as_const(copy).view();
  }
  const auto components =
      detail::cpu::strong_components<I, O>(host, edges.rowptr(), edges.colind());
  if (components.count < a.shape().row)
    if (auto r = closure_by_components<T, I, O, S>(ctx, edges, components).run(options))
      return std::move(*r);
  return closure_rounds<T, I, O, S>(ctx, a, options).run();
}

} // namespace

template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> closure(const context<S>& ctx, const csr<T, I, O, S>& a,
                                const closure_options& options) {
  detail::require_same_size("closure", "rows of A", a.shape().row, "columns of A", a.shape().col);
  auto r = reached_by_paths(ctx, a, options);
  if (options.reflexive)
    insert(ctx, r, ones_on_diagonal<T, I, O>(ctx, a.shape().row).view(), {existing::keep});
  return r;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template dynamic_csr<T, I, O> closure(const host_context&, const csr<T, I, O>&,                  \
                                        const closure_options&);                                   \
  template dynamic_csr<T, I, O, space::device> closure(                                            \
      const device_context&, const csr<T, I, O, space::device>&, const closure_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna

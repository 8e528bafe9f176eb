// Lacuna's ways to change a matrix, and those of one who has no matrix that changes.
#pragma once

#include "bench/hyb/dynamic_hyb.hpp"
#include "bench/update/contestant.hpp"
#include "bench/update/sorted_csr.hpp"
#include <lacuna/op/add.hpp>
#include <lacuna/op/update.hpp>

namespace lacuna::bench {

namespace ways {
inline constexpr const char *dynamic = "Lacuna", *replacing = "Lacuna, replace",
                            *appending = "Lacuna, append", *sum = "Lacuna: sort, add",
                            *triplets = "Lacuna: from triplets", *hybrid = "HYB, append",
                            *merging = "CUB: sort, merge", *rebuilding = "CUB: sort all";
} // namespace ways

/// dynamic_csr. Appended duplicates are added up when it is fetched.
template <class T, space S> class dynamic_way : public updated_matrix<T, S> {
public:
  using batch_view = typename updated_matrix<T, S>::batch_view;
  dynamic_way(const context<S>& ctx, dynamic_csr<T, index_t, offset_t, S> m, existing rule)
      : ctx_(ctx), m_(std::move(m)), rule_(rule) {}
  void insert(batch_view batch) override {
    lacuna::insert(ctx_, m_, batch, {.existing = rule_});
    ctx_.synchronize();
  }
  void erase(batch_view batch) override {
    lacuna::erase(ctx_, m_, batch);
    ctx_.synchronize();
  }
  void multiply(vector_view<const T, S> x, vector_view<T, S> y) override {
    lacuna::multiply(ctx_, m_, x, y);
  }
  csr<T> fetch() override {
    const host_context host;
    csr<T> a = copy_to(host, to_csr(ctx_, m_));
    return rule_ == existing::append ? merge_duplicates(host, a, duplicates::sum) : std::move(a);
  }
  [[nodiscard]] std::size_t bytes() const override { return m_.bytes(); }

private:
  context<S> ctx_;
  dynamic_csr<T, index_t, offset_t, S> m_;
  existing rule_;
};

/// CSR, a new one for each batch: the batch is sorted and added, or all triplets are sorted.
template <class T, space S> class rebuilt_way : public updated_matrix<T, S> {
public:
  using batch_view = typename updated_matrix<T, S>::batch_view;
  rebuilt_way(const context<S>& ctx, csr_view<const T, index_t, offset_t, S> a, bool all)
      : ctx_(ctx), a_(copy_to(ctx, a)), all_(all) {}
  void insert(batch_view batch) override {
    a_ = all_ ? from_triplets(batch) : add(ctx_, a_, to_csr(ctx_, batch));
    ctx_.synchronize();
  }
  void multiply(vector_view<const T, S> x, vector_view<T, S> y) override {
    lacuna::multiply(ctx_, a_, x, y);
  }
  csr<T> fetch() override { return copy_to(host_context(), a_); }
  [[nodiscard]] std::size_t bytes() const override { return a_.bytes(); }

private:
  using matrix = csr<T, index_t, offset_t, S>;
  matrix from_triplets(batch_view batch) const {
    const auto old = to_coo(ctx_, a_);
    coo<T, index_t, offset_t, S> all(ctx_, a_.shape(), old.size() + batch.size());
    const auto append = [&](auto to, auto first, auto second) {
      using E = std::remove_cvref_t<decltype(*to.data())>;
      const auto bytes = [](auto v) { return static_cast<std::size_t>(v.size()) * sizeof(E); };
      lacuna::detail::copy_bytes(ctx_, to.data(), first.data(), bytes(first), S);
      lacuna::detail::copy_bytes(ctx_, to.data() + first.size(), second.data(), bytes(second), S);
    };
    append(all.rowind(), old.rowind(), batch.rowind());
    append(all.colind(), old.colind(), batch.colind());
    append(all.values(), old.values(), batch.values());
    matrix rows = to_csr(ctx_, all);
    sort(ctx_, rows);
    return merge_duplicates(ctx_, rows, duplicates::sum);
  }

  context<S> ctx_;
  matrix a_;
  bool all_;
};

/// ELL of the mean row length.
template <class T, space S> class hyb_way : public updated_matrix<T, S> {
public:
  using batch_view = typename updated_matrix<T, S>::batch_view;
  hyb_way(const context<S>& ctx, csr_view<const T, index_t, offset_t, S> a, std::int64_t width)
      : ctx_(ctx), m_(to_dynamic_hyb<T>(ctx, a, width)) {}
  void insert(batch_view batch) override { insert_batch<T>(ctx_, m_, batch); }
  void multiply(vector_view<const T, S> x, vector_view<T, S> y) override {
    multiply_hyb<T, S>(ctx_, m_.parts, x, y);
  }
  csr<T> fetch() override { return to_host_csr(host_context(), m_); }
  [[nodiscard]] std::size_t bytes() const override { return m_.bytes(); }

private:
  context<S> ctx_;
  dynamic_hyb<T, S> m_;
};

/// CSR by CUB.
template <class T> class cub_way : public updated_matrix<T, space::device> {
public:
  using batch_view = typename updated_matrix<T, space::device>::batch_view;
  cub_way(const device_context& ctx, csr_view<const T, index_t, offset_t, space::device> a,
          bool all)
      : ctx_(ctx), m_(to_sorted_csr<T>(ctx, a)), all_(all) {}
  void insert(batch_view batch) override {
    if (all_)
      rebuild_with<T>(ctx_, m_, batch);
    else
      merge_batch<T>(ctx_, m_, batch);
  }
  void erase(batch_view batch) override { erase_batch<T>(ctx_, m_, batch); }
  void multiply(vector_view<const T, space::device> x, vector_view<T, space::device> y) override {
    lacuna::multiply(ctx_, m_.view(), x, y);
  }
  csr<T> fetch() override { return copy_to(host_context(), m_.view()); }
  [[nodiscard]] std::size_t bytes() const override { return m_.bytes(); }

private:
  device_context ctx_;
  sorted_csr<T> m_;
  bool all_;
};

/// Entries per row, rounded up.
template <class A> std::int64_t mean_row(const A& a) {
  const std::int64_t rows = std::max<std::int64_t>(a.shape().row, 1);
  return (a.size() + rows - 1) / rows;
}

template <class T, space S>
update_contestant<T, S> dynamic_contestant(const context<S>& ctx, const char* name, existing rule) {
  update_contestant<T, S> c;
  c.name = name;
  c.plays = rule == existing::add ? role::lacuna : role::lacuna_too;
  c.rule = rule == existing::replace ? update_rule::replace : update_rule::add;
  c.erases = rule != existing::append;
  c.load = [ctx, rule](csr_view<const T, index_t, offset_t, S> a, std::int64_t width) {
    dynamic_csr_options options;
    options.width = width;
    return std::make_unique<dynamic_way<T, S>>(
        ctx,
        a.size() > 0 ? to_dynamic_csr(ctx, a)
                     : dynamic_csr<T, index_t, offset_t, S>(ctx, a.shape(), options),
        rule);
  };
  return c;
}

/// Those of both engines, and of this one.
template <class T, space S>
std::vector<update_contestant<T, S>> update_contestants(const context<S>& ctx) {
  using matrix = csr_view<const T, index_t, offset_t, S>;
  std::vector<update_contestant<T, S>> result = {
      dynamic_contestant<T, S>(ctx, ways::dynamic, existing::add),
      dynamic_contestant<T, S>(ctx, ways::replacing, existing::replace),
      dynamic_contestant<T, S>(ctx, ways::appending, existing::append)};
  const auto add_way = [&](const char* name, role plays, bool erases, auto load) {
    update_contestant<T, S> c;
    c.name = name;
    c.plays = plays;
    c.erases = erases;
    c.load = load;
    result.push_back(std::move(c));
  };
  add_way(ways::sum, role::lacuna_too, false, [ctx](matrix a, std::int64_t) {
    return std::make_unique<rebuilt_way<T, S>>(ctx, a, false);
  });
  add_way(ways::hybrid, role::peer, false, [ctx](matrix a, std::int64_t width) {
    return std::make_unique<hyb_way<T, S>>(ctx, a, width > 0 ? width : mean_row(a));
  });
  if constexpr (S == space::host) {
    add_way(ways::triplets, role::lacuna_too, false, [ctx](matrix a, std::int64_t) {
      return std::make_unique<rebuilt_way<T, S>>(ctx, a, true);
    });
    const auto join = [&](auto more) {
      for (auto& each : more) result.push_back(std::move(each));
    };
    join(scipy_update_contestants<T>());
#ifdef LACUNA_BENCH_EIGEN
    join(eigen_update_contestants<T>());
#endif
#ifdef LACUNA_BENCH_GRAPHBLAS
    join(graphblas_update_contestants<T>(ctx.threads()));
#endif
  } else {
    for (const bool all : {false, true})
      add_way(
          all ? ways::rebuilding : ways::merging, role::peer, true,
          [ctx, all](matrix a, std::int64_t) { return std::make_unique<cub_way<T>>(ctx, a, all); });
  }
  return result;
}

} // namespace lacuna::bench

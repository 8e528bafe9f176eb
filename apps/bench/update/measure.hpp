// Batches, streams, rounds and products of a matrix that changes, timed and verified. Contestants
// take turns. A batch lies where the matrix does before its time begins.
#pragma once

#include "bench/suite.hpp"
#include "bench/update/measured.hpp"
#include "bench/update/ways.hpp"

namespace lacuna::bench {

/// Something that is timed as contestants are; forget() drops what the last run made.
class timed_call : public prepared {
public:
  explicit timed_call(std::function<void()> call, std::function<void()> drop = {})
      : call_(std::move(call)), drop_(std::move(drop)) {}
  void run() override { call_(); }
  void forget() override {
    if (drop_) drop_();
  }

private:
  std::function<void()> call_, drop_;
};

/// What batches make of a matrix, and what is left when they have been taken out again; made when
/// it is first asked for. Reads what it was given.
template <class T> class expected_matrices {
public:
  expected_matrices(const host_context& host, csr_view<const T> a, std::span<const coo<T>> batches)
      : host_(host), a_(a), batches_(batches) {}
  const csr<T>& after(update_rule rule) {
    auto& made = after_[rule == update_rule::add ? 0 : 1];
    if (!made) made = std::make_unique<csr<T>>(expected_after<T>(host_, a_, batches_, rule));
    return *made;
  }
  const csr<T>& without(update_rule rule) {
    auto& made = without_[rule == update_rule::add ? 0 : 1];
    if (!made)
      made = std::make_unique<csr<T>>(expected_without<T>(host_, after(rule).view(), batches_));
    return *made;
  }

private:
  const host_context& host_;
  csr_view<const T> a_;
  std::span<const coo<T>> batches_;
  std::unique_ptr<csr<T>> after_[2], without_[2];
};

template <class T, space S> class update_bench {
public:
  using contestants = std::vector<update_contestant<T, S>>;
  using matrix = csr<T, index_t, offset_t, S>;

  update_bench(const rig<S>& r, const host_context& host, const csr<T>& a, std::uint64_t seed)
      : rig_(r), host_(host), seed_(seed), on_host_(with_small_values<T>(ordered(host, a))),
        a_(copy_to(r.ctx, on_host_)) {}

  [[nodiscard]] const csr<T>& on_host() const { return on_host_; }
  [[nodiscard]] csr_view<const T, index_t, offset_t, S> matrix_view() const { return a_.view(); }

  /// Of the memory's first probe.
  [[nodiscard]] double bandwidth() const {
    const auto pass = rig_.probes.front().make();
    return rig_.probes.front().bytes / median_time(*pass, 5);
  }

  [[nodiscard]] batch_figures batches(std::int64_t entries, int count, double bandwidth,
                                      const contestants& all) const {
    batch_figures f{entries, count, entries * count > on_host_.size(), 0, {}};
    f.limit_seconds =
        static_cast<double>(entries) * (3 * sizeof(index_t) + 2 * sizeof(T)) / bandwidth;
    contestants taking_part;
    for (const auto& c : all)
      if (entries <= c.most_entries) taking_part.push_back(c);
    const auto on_host = make_batches<T>(host_, on_host_.view(), entries, count, seed_);
    std::vector<times> spent(taking_part.size());
    for (const auto& c : taking_part) f.lines.push_back(line_of(c));
    if (f.fresh)
      for (int b = 0; b < count; ++b)
        episode({on_host.data() + b, 1}, taking_part, b + 1 == count, spent, f.lines);
    else
      episode({on_host.data(), on_host.size()}, taking_part, true, spent, f.lines);
    for (std::size_t i = 0; i < f.lines.size(); ++i) {
      if (!f.lines[i].trouble.empty()) continue;
      f.lines[i].insert_seconds = app::median(spent[i].insert);
      if (!spent[i].erase.empty()) f.lines[i].erase_seconds = app::median(spent[i].erase);
    }
    return f;
  }

  /// The matrix's own entries in random order, into one without entries whose rows are told of the
  /// mean row length.
  [[nodiscard]] stream_figures stream(std::int64_t batch, const contestants& all) const {
    stream_figures f{batch, on_host_.size(), {}};
    const auto batches = put(shuffled_entries<T>(host_, on_host_.view(), batch, seed_));
    csr<T> nothing(host_, on_host_.shape(), 0, {true, true});
    std::ranges::fill(nothing.rowptr(), 0);
    const matrix blank = copy_to(rig_.ctx, nothing);
    const std::int64_t width = mean_row(on_host_);
    for (const auto& c : all) {
      if (std::string_view(c.name) == ways::replacing || on_host_.size() < 1) continue;
      if (c.most_entries < on_host_.size()) continue;
      update_line& line = f.lines.emplace_back(line_of(c));
      attempt(line, [&] {
        std::vector<double> seconds;
        const app::stopwatch watch;
        while (seconds.size() < 3 && (seconds.empty() || watch.seconds() < patience)) {
          const auto m = c.load(blank.view(), width);
          seconds.push_back(timed([&] {
            for (const auto& b : batches) m->insert(b.view());
          }));
          line.bytes = m->bytes();
          if (seconds.size() == 1) verify(*m, on_host_, line);
        }
        line.insert_seconds = app::median(seconds);
      });
    }
    return f;
  }

  /// Rounds of 0.2 % more entries and 5 products, as the paper has them.
  [[nodiscard]] round_figures rounds(const contestants& all) const {
    round_figures f{round_count, 5, round_batch(), {}};
    const auto on_host = make_batches<T>(host_, on_host_.view(), f.batch, f.rounds, seed_ + 1000);
    const auto batches = put(on_host);
    expected_matrices<T> expected(host_, on_host_.view(), on_host);
    const array<T, S> x = vector_of(on_host_.shape().col);
    array<T, S> y(rig_.ctx, on_host_.shape().row);
    for (const auto& c : all) {
      const std::string_view name = c.name;
      if (name == ways::replacing || name == ways::appending || !c.multiplies) continue;
      if (c.most_entries < f.batch) continue;
      update_line& line = f.lines.emplace_back(line_of(c));
      attempt(line, [&] {
        std::vector<double> seconds, inserting;
        const app::stopwatch watch;
        while (seconds.size() < 3 && (seconds.empty() || watch.seconds() < patience)) {
          const peak_meter meter(S, S == space::host);
          const auto m = c.load(a_.view(), 0);
          double spent = 0, in_batches = 0;
          for (const auto& b : batches) {
            const double insert = timed([&] { m->insert(b.view()); });
            in_batches += insert;
            spent += insert + timed([&] {
                       for (int k = 0; k < f.products; ++k) m->multiply(x.view(), y.view());
                     });
          }
          seconds.push_back(spent);
          inserting.push_back(in_batches);
          if (seconds.size() > 1) continue;
          line.peak_bytes = meter.bytes();
          line.bytes = m->bytes();
          verify(*m, expected.after(c.rule), line);
        }
        line.seconds = app::median(seconds);
        line.insert_seconds = app::median(inserting);
      });
    }
    return f;
  }

  /// Products before and after a compaction, with what the rounds leave.
  [[nodiscard]] product_figures products() const {
    product_figures f;
    const auto batches =
        put(make_batches<T>(host_, on_host_.view(), round_batch(), round_count, seed_ + 1000));
    const array<T, S> x = vector_of(on_host_.shape().col);
    array<T, S> y(rig_.ctx, on_host_.shape().row);
    const vector_view<const T, S> xv = x.view();
    const auto fragmented = [&] {
      auto m = to_dynamic_csr(rig_.ctx, a_);
      for (const auto& b : batches) insert(rig_.ctx, m, b.view());
      return m;
    };
    std::vector<double> compactions;
    for (int k = 0; k < 2; ++k) {
      auto m = fragmented();
      compactions.push_back(timed([&] { compact(rig_.ctx, m); }));
    }
    auto m = fragmented();
    f.fragmented_bytes = m.bytes();
    f.segments_max = m.segments_max();
    const matrix same = to_csr(rig_.ctx, m);
    operation_info_t info;
    if constexpr (S == space::device)
      info = multiply_inspect(rig_.ctx, same, xv, vector_view<const T, S>(y.data(), y.size()));
    const auto h = to_dynamic_hyb<T>(rig_.ctx, same.view(), mean_row(same));
    timed_call by_csr([&] { multiply(rig_.ctx, info, same, xv, y.view()); });
    timed_call by_dynamic([&] { multiply(rig_.ctx, m, xv, y.view()); });
    timed_call by_hyb([&] { multiply_hyb<T, S>(rig_.ctx, h.parts, xv, y.view()); });
    const auto before = in_turns({&by_csr, &by_dynamic, &by_hyb});
    f.csr = before[0], f.fragmented = before[1], f.hyb = before[2];
    matrix made;
    timed_call back([&] { made = to_csr(rig_.ctx, m); }, [&] { made = {}; });
    f.fragmented_to_csr = median_time(back, 5);
    compactions.push_back(timed([&] { compact(rig_.ctx, m); }));
    f.compact = app::median(compactions);
    const auto after = in_turns({&by_csr, &by_dynamic});
    f.compacted = f.csr * after[1] / after[0]; // as noisy moments differ
    f.compacted_bytes = m.bytes();
    f.csr_bytes = same.bytes();
    f.hyb_bytes = h.bytes();

    const auto loaded = to_dynamic_csr(rig_.ctx, a_);
    f.dynamic_bytes = loaded.bytes();
    dynamic_csr<T, index_t, offset_t, S> dynamic;
    timed_call copying([&] { made = copy_to(rig_.ctx, a_); }, [&] { made = {}; });
    timed_call making([&] { dynamic = to_dynamic_csr(rig_.ctx, a_); }, [&] { dynamic = {}; });
    timed_call leaving([&] { made = to_csr(rig_.ctx, loaded); }, [&] { made = {}; });
    const auto conversions = in_turns({&copying, &making, &leaving});
    f.copy = conversions[0], f.to_dynamic = conversions[1], f.to_csr = conversions[2];
    return f;
  }

  /// Median seconds of each, all taking turns.
  [[nodiscard]] std::vector<double> in_turns(const std::vector<prepared*>& calls) const {
    std::vector<std::vector<double>> seconds(calls.size());
    for (int round = 0; round < 7; ++round)
      for (std::size_t i = 0; i < calls.size(); ++i) seconds[i].push_back(rig_.time(*calls[i]));
    std::vector<double> result;
    for (const auto& each : seconds) result.push_back(app::median(each));
    return result;
  }
  [[nodiscard]] double median_time(prepared& call, int rounds) const {
    std::vector<double> seconds;
    for (int k = 0; k < rounds; ++k) seconds.push_back(rig_.time(call));
    return app::median(seconds);
  }
  /// Seconds of one call, work that it queues included.
  template <class F> double timed(F f) const {
    rig_.ctx.synchronize();
    const app::stopwatch watch;
    f();
    rig_.ctx.synchronize();
    return watch.seconds();
  }
  [[nodiscard]] array<T, S> vector_of(std::int64_t size) const {
    array<T> x(host_, size);
    app::fill_vector(x.view(), seed_);
    return copy_to(rig_.ctx, x);
  }
  [[nodiscard]] std::vector<coo<T, index_t, offset_t, S>>
  put(std::span<const coo<T>> batches) const {
    std::vector<coo<T, index_t, offset_t, S>> result;
    for (const auto& b : batches) result.push_back(copy_to(rig_.ctx, b));
    return result;
  }

private:
  /// Seconds after which nothing is repeated.
  static constexpr double patience = 2;
  static constexpr int round_count = 50;
  struct times {
    std::vector<double> insert, erase;
  };

  static csr<T> ordered(const host_context& host, const csr<T>& a) {
    csr<T> sorted = copy_to(host, a);
    if (!a.order().sorted) sort(host, sorted);
    return a.order().sorted && a.order().unique ? std::move(sorted)
                                                : merge_duplicates(host, sorted, duplicates::sum);
  }
  static update_line line_of(const update_contestant<T, S>& c) {
    update_line line;
    line.name = c.name;
    line.plays = c.plays;
    line.replaces = c.rule == update_rule::replace;
    return line;
  }
  template <class F> static void attempt(update_line& line, F f) {
    try {
      f();
    } catch (const std::exception& e) {
      line.trouble = e.what();
    }
  }
  static void verify(updated_matrix<T, S>& m, const csr<T>& expected, update_line& line) {
    const csr<T> found = m.fetch();
    if (!same_matrix<T>(found.view(), expected.view())) line.trouble = "WRONG RESULT";
  }
  [[nodiscard]] std::int64_t round_batch() const {
    return std::max<std::int64_t>(on_host_.size() / 500, 1);
  }
  /// All contestants load the matrix, put the batches in, and take them out again.
  void episode(std::span<const coo<T>> on_host, const contestants& all, bool verified,
               std::vector<times>& spent, std::vector<update_line>& lines) const {
    const auto batches = put(on_host);
    expected_matrices<T> expected(host_, on_host_.view(), on_host);
    std::vector<std::unique_ptr<updated_matrix<T, S>>> entrants(all.size());
    const auto each = [&](auto f) {
      for (std::size_t i = 0; i < all.size(); ++i)
        if (lines[i].trouble.empty()) attempt(lines[i], [&] { f(i); });
    };
    each([&](std::size_t i) {
      if (S == space::device) { // loads kernels and maps memory the first time
        const auto other = all[i].load(a_.view(), 0);
        other->insert(batches[0].view());
        if (all[i].erases) other->erase(batches[0].view());
      }
      entrants[i] = all[i].load(a_.view(), 0);
    });
    for (const auto& b : batches)
      each([&](std::size_t i) {
        spent[i].insert.push_back(timed([&] { entrants[i]->insert(b.view()); }));
      });
    if (verified)
      each([&](std::size_t i) { verify(*entrants[i], expected.after(all[i].rule), lines[i]); });
    for (const auto& b : batches)
      each([&](std::size_t i) {
        if (all[i].erases) spent[i].erase.push_back(timed([&] { entrants[i]->erase(b.view()); }));
      });
    if (verified)
      each([&](std::size_t i) {
        if (all[i].erases) verify(*entrants[i], expected.without(all[i].rule), lines[i]);
      });
  }

  const rig<S>& rig_;
  const host_context& host_;
  std::uint64_t seed_;
  csr<T> on_host_;
  matrix a_;
};

} // namespace lacuna::bench

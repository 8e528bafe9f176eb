#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "plan/work.hpp"

namespace lacuna {

const char* name_of(spmv_format f) {
  switch (f) {
  case spmv_format::csr: return "csr";
  case spmv_format::packed_csr: return "packed_csr";
  case spmv_format::ell_csr: return "ell_csr";
  case spmv_format::csr_k: break;
  }
  return "csr_k";
}

plan_hints with_environment(plan_hints hints) {
  const char* const name = std::getenv("LACUNA_FORCE_FORMAT");
  if (hints.format || name == nullptr || *name == '\0') return hints;
  for (const spmv_format f :
       {spmv_format::csr, spmv_format::packed_csr, spmv_format::ell_csr, spmv_format::csr_k})
    if (std::string_view(name) == name_of(f)) {
      hints.format = f;
      hints.by_environment = true;
      return hints;
    }
  throw bad_input(fmt::format(
      "LACUNA_FORCE_FORMAT is '{}'; it may be csr, packed_csr, ell_csr or csr_k", name));
}

namespace {

using planning::is_diagonal;
using planning::is_even;
using planning::least_gain;
using planning::matrix_bytes;

double as_double(std::int64_t n) { return static_cast<double>(n); }

spmv_class csr_class(const spmv_features& f, const type_widths& w, const spmv_machine& machine) {
  if (!machine.device) return spmv_class::csr_rows;
  const spmv_kernel kernel =
      choose_spmv_kernel(f.rows, f.row_length, static_cast<std::size_t>(w.value), machine.workers);
  switch (kernel.method) {
  case spmv_method::rows: return spmv_class::csr_rows;
  case spmv_method::whole_row_tiles: return spmv_class::csr_tiles;
  case spmv_method::split_tiles: break;
  }
  return spmv_class::csr_split;
}

class chooser {
public:
  chooser(const spmv_features& f, const type_widths& w, const spmv_machine& machine,
          const plan_hints& hints)
      : f_(f), w_(w), machine_(machine), hints_(hints) {
    const spmv_class csr = csr_class(f, w, machine);
    csr_bytes_ = matrix_bytes(f, w, csr);
    csr_seconds_ = machine.of(csr).seconds(work_of(f, w, csr));
    add(spmv_format::csr, csr);
    const ell_csr_choice ell = choose_ell_csr(f, machine);
    if (ell.may_be_in_order) {
      const bool even = is_even(f);
      add(spmv_format::ell_csr, even && is_diagonal(f, w) ? spmv_class::ell_diagonal
                                : even                    ? spmv_class::ell_even
                                                          : spmv_class::ell_slices)
          .ell = ell.in_order;
    }
    // On a host a long row's pieces read x as CSR does: where nearly all entries are in such rows
    // there is nothing to gain.
    const bool mostly_long = as_double(planning::rows_from(f, ell.by_length.long_row).entries) >
                             0.9 * as_double(f.entries);
    if (machine.device || !mostly_long || hints.format)
      add(spmv_format::ell_csr, spmv_class::ell_sorted).ell = ell.by_length;
    // Tiles read packed columns no faster than plain ones: they are offered where CSR would give
    // every row the same lanes. On a host super-rows without their ordering run CSR's own loops.
    if (csr == spmv_class::csr_rows || hints.format)
      add(spmv_format::packed_csr, spmv_class::packed_csr);
    if (machine.device || hints.format)
      add(spmv_format::csr_k, spmv_class::csr_k).csr_k = csr_k_sizes_of();
    if (hints.may_reorder) add_reordered();
  }

  plan_decision decide() && {
    auto& all = decision_.candidates;
    for (plan_candidate& c : all) refuse(c);
    // The format that was asked for is out of the question: what is there already must do.
    if (std::all_of(all.begin(), all.end(), [](const auto& c) { return !c.refused.empty(); }))
      all.front().refused.clear();
    const auto rank = [&](const plan_candidate& c) {
      // CSR is there already and costs nothing: others must be better by more than a guess.
      const bool csr = c.format == spmv_format::csr;
      return std::pair(!c.refused.empty(), c.total_seconds * (csr ? least_gain : 1));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    explain();
    return std::move(decision_);
  }

private:
  plan_candidate& add(spmv_format format, spmv_class kernel) {
    plan_candidate& c = decision_.candidates.emplace_back();
    c.format = format;
    c.kernel = kernel;
    c.bytes = matrix_bytes(f_, w_, kernel);
    c.seconds = machine_.of(kernel).seconds(work_of(f_, w_, kernel));
    if (format != spmv_format::csr) c.convert_seconds = machine_.of(kernel).convert * csr_seconds_;
    c.total_seconds = c.convert_seconds + hints_.multiplies * c.seconds;
    return c;
  }

  [[nodiscard]] csr_k_options csr_k_sizes_of() const {
    const int k = machine_.device ? 3 : 2;
    const csr_k_sizes sizes = choose_csr_k_sizes(f_.row_length.mean, k, machine_.csr_k);
    return {k, sizes.super_row, sizes.super_super_row, 0};
  }

  /// Rows and columns in the order of Band-k: neighbours in the graph lie near each other, so that
  /// x is read about once; x and y are renumbered for every product.
  void add_reordered() {
    if (machine_.device || f_.rows != f_.cols) return;
    plan_candidate& c = add(spmv_format::csr_k, spmv_class::csr_k);
    c.reordered = true;
    c.csr_k = csr_k_sizes_of();
    spmv_work work = work_of(f_, w_, spmv_class::csr_k);
    work.gather *= 0.25;
    work.stream += 6 * as_double(f_.rows * w_.value);
    c.seconds = machine_.of(spmv_class::csr_k).seconds(work);
    c.bytes += 2 * as_double(f_.rows * (w_.index + w_.value));
    c.convert_seconds += 150 * csr_seconds_; // the ordering itself
    c.total_seconds = c.convert_seconds + hints_.multiplies * c.seconds;
  }

  void refuse(plan_candidate& c) const {
    const bool csr = c.format == spmv_format::csr;
    const double limit =
        hints_.memory_limit > 0 ? static_cast<double>(hints_.memory_limit) : 2 * csr_bytes_;
    if (hints_.format && *hints_.format != c.format) {
      c.refused = asked_for();
    } else if (csr) {
      return; // it is there already
    } else if (f_.entries == 0 && !hints_.format) {
      c.refused = "there are no entries";
    } else if (hints_.will_change) {
      c.refused = "the matrix will change, and only csr follows without being made anew";
    } else if (hints_.multiplies < 2 && !hints_.format) {
      c.refused = "one product never repays a conversion";
    } else if (c.bytes > limit && (!hints_.format || hints_.memory_limit > 0)) {
      c.refused = fmt::format("it takes {:.0f} bytes, {:.0f} are allowed", c.bytes, limit);
    }
  }

  [[nodiscard]] std::string asked_for() const {
    return fmt::format("{} was asked for{}", name_of(*hints_.format),
                       hints_.by_environment ? " by LACUNA_FORCE_FORMAT" : "");
  }

  void say(std::string sentence) { decision_.reasons.push_back(std::move(sentence)); }

  void explain() {
    const plan_candidate& best = decision_.chosen();
    const row_statistics& rows = f_.row_length;
    if (hints_.by_environment && hints_.format == best.format) say(asked_for());
    if (f_.entries == 0) return say("there are no entries: every format is as good");
    if (rows.longest > 0) { // else it was not looked at
      say(fmt::format("rows have {:.1f} ± {:.1f} entries, the longest {}", rows.mean,
                      rows.deviation, rows.longest));
      say_why(best);
    }
    const auto csr =
        std::find_if(decision_.candidates.begin(), decision_.candidates.end(),
                     [](const plan_candidate& c) { return c.format == spmv_format::csr; });
    if (best.format != spmv_format::csr) {
      const double gained = csr->seconds - best.seconds;
      say(fmt::format("{:.1f} bytes an entry instead of {:.1f} in csr; a product is predicted to "
                      "take {:.2f} times csr's time",
                      best.bytes / as_double(f_.entries), csr_bytes_ / as_double(f_.entries),
                      best.seconds / csr->seconds));
      if (gained > 0)
        say(fmt::format("making it costs about {:.0f} products of csr and is repaid by {:.0f}",
                        best.convert_seconds / csr->seconds,
                        std::ceil(best.convert_seconds / gained)));
      return;
    }
    if (hints_.format && *hints_.format != best.format) {
      const auto asked =
          std::find_if(decision_.candidates.begin(), decision_.candidates.end(),
                       [&](const plan_candidate& c) { return c.format == *hints_.format; });
      return say(fmt::format("{}, but {}", asked_for(), asked->refused));
    }
    if (hints_.by_environment) return; // that was said
    if (hints_.will_change) return say("the matrix will change, so it stays as it is");
    if (hints_.multiplies < 2) return say("one product never repays a conversion");
    if (hints_.format) return say(asked_for());
    const auto other = std::find_if(
        decision_.candidates.begin(), decision_.candidates.end(),
        [](const plan_candidate& c) { return c.format != spmv_format::csr && c.refused.empty(); });
    if (other != decision_.candidates.end())
      say(fmt::format(
          "the next best, {}, is predicted to take {:.2f} times as long, its conversion "
          "included",
          name_of(other->format), other->total_seconds / csr->total_seconds));
  }

  void say_why(const plan_candidate& best) {
    switch (best.kernel) {
    case spmv_class::ell_diagonal:
      return say("neighbouring rows have their entries on the same few diagonals, so columns need "
                 "not be stored and x is read in runs");
    case spmv_class::ell_even:
      return say("rows are of one length, so 32 of them fill a slice without padding");
    case spmv_class::ell_slices:
      return say(
          fmt::format("32 neighbouring rows are alike: slices store {:.2f} times the entries",
                      as_double(slice_lanes * f_.slice_steps) / as_double(f_.entries)));
    case spmv_class::ell_sorted: {
      const auto found = planning::rows_from(f_, best.ell.long_row);
      if (found.rows == 0)
        return say(
            "rows differ, so they are put in order of length and 32 at a time share a slice");
      return say(fmt::format(
          "{} rows of {} entries or more hold {:.0f} % of all: they are cut into "
          "pieces, the others share slices by length",
          found.rows, best.ell.long_row, 100 * as_double(found.entries) / as_double(f_.entries)));
    }
    case spmv_class::packed_csr:
      return say("neighbouring entries have columns near each other, so these fit 8 or 16 bits");
    case spmv_class::csr_k:
      return say(best.reordered
                     ? "in the order of Band-k, neighbouring rows read the same parts of x"
                     : "super-rows keep a thread's rows together");
    case spmv_class::csr_rows:
      if (machine_.device) return say("rows are alike, so each gets the same few lanes");
      return say("threads take shares of equal rows and entries");
    case spmv_class::csr_tiles: return say("rows differ but none is long: tiles of whole rows");
    case spmv_class::csr_split: return say("rows differ and some are long: tiles that cut rows");
    }
  }

  const spmv_features& f_;
  const type_widths& w_;
  const spmv_machine& machine_;
  const plan_hints& hints_;
  double csr_bytes_ = 0, csr_seconds_ = 0;
  plan_decision decision_;
};

} // namespace

ell_csr_choice choose_ell_csr(const spmv_features& f, const spmv_machine& machine) {
  constexpr std::int64_t none = ell_csr_options::none;
  std::int64_t short_rows = 0, short_entries = 0;
  for (std::size_t k = 0; k <= 8; ++k) { // rows of less than 256 entries
    short_rows += f.length_histogram[k];
    short_entries += f.entries_by_length[k];
  }
  ell_csr_choice choice;
  ell_csr_options& by_length = choice.by_length;
  by_length.lane_entries = none;
  by_length.window = 1024;
  by_length.piece = machine.piece;
  if (machine.device) {
    // Rows that differ: longer ones get several lanes, so that no lane of a slice is far behind.
    // Measured on an H200 over T, M, windows and pieces on 26 matrices; figures in docs/ell_csr.md.
    const bool skewed = f.row_length.deviation > 0.5 * f.row_length.mean;
    const bool few = f.rows < machine.few_rows * machine.workers;
    const std::int64_t mean = short_rows == 0 ? 0 : short_entries / short_rows;
    by_length.long_row =
        std::max<std::int64_t>(paper_thresholds(short_rows, short_entries).long_row, 65);
    // Rows that are alike stay together, however long.
    if (!skewed && f.row_length.longest <= 256)
      by_length.long_row = std::max(by_length.long_row, f.row_length.longest + 1);
    if (skewed || few) {
      by_length.long_row = std::max<std::int64_t>(by_length.long_row, 129);
      by_length.lane_entries = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(mean))),
          std::min<std::int64_t>(machine.lane_entries, 32), 32);
    }
    // Few pieces are made shorter: every multiprocessor gets some.
    if (planning::rows_from(f, by_length.long_row).entries < 2 * machine.workers * machine.piece)
      by_length.piece = std::max<std::int64_t>(machine.piece / 4, 32);
  } else {
    by_length.long_row = 257;
  }
  choice.in_order = {none, none, choice.by_length.piece, 1, true};
  choice.may_be_in_order =
      f.entries > 0 && f.row_length.longest <= 256 &&
      as_double(slice_lanes * f.slice_steps) <= machine.padding * as_double(f.entries);
  return choice;
}

plan_decision choose_plan(const spmv_features& found, const type_widths& widths,
                          const spmv_machine& machine, const plan_hints& hints) {
  if (hints.multiplies < 0 || hints.transposed_multiplies < 0)
    throw bad_input("plan: the number of multiplies is negative");
  return chooser(found, widths, machine, hints).decide();
}

} // namespace lacuna

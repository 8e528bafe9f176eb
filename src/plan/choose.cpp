#include "plan/choose.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "plan/formats/csr.hpp"
#include "plan/formats/dynamic_csr.hpp"
#include <lacuna/plan/compaction.hpp>

namespace lacuna {

heeded_hints with_environment(const plan_hints& hints) {
  heeded_hints heeded{hints, false};
  const char* const name = std::getenv("LACUNA_FORCE_FORMAT");
  if (!hints.format.empty()) {
    (void)planning::format_named(hints.format);
  } else if (name != nullptr && *name != '\0') {
    const auto all = planned_formats();
    if (std::find(all.begin(), all.end(), name) == all.end())
      throw bad_input(fmt::format("LACUNA_FORCE_FORMAT is '{}'; it may be {}", name,
                                  planned_formats_in_words()));
    heeded.hints.format = name;
    heeded.by_environment = true;
  }
  return heeded;
}

bool looks_at_features(const plan_hints& hints) {
  if (hints.format.empty())
    return !hints.will_change && hints.updates == 0 && hints.multiplies >= 2;
  return hints.memory_limit > 0 || planning::format_named(hints.format).looks_at_features;
}

namespace {

using planning::as_double;
using planning::format_row;

class chooser {
public:
  chooser(const spmv_features& f, const type_widths& w, const spmv_machine& machine,
          const plan_hints& hints, bool by_environment)
      : f_(f), w_(w), machine_(machine), hints_(hints), by_environment_(by_environment) {
    planning::offer_to to{f, w, machine, hints, {}, 0};
    to.csr_kernel = planning::csr_format::predicted_kernel(f, w, machine);
    to.csr_seconds =
        machine.of(to.csr_kernel).seconds(planning::csr_format::work(f, w, machine, to.csr_kernel));
    for (const format_row& row : planning::format_table())
      if (is_csr(row.name) || hints.format.empty() || hints.format == row.name)
        row.offer(to, decision_.candidates);
    csr_ = decision_.candidates.front();
    if (f.sampled_groups == 0) // only the size is known
      for (plan_candidate& c : decision_.candidates)
        c.seconds = c.convert_seconds = c.total_seconds = 0;
  }

  plan_decision decide() && {
    auto& all = decision_.candidates;
    for (plan_candidate& c : all) refuse(c);
    // The format that was asked for is out of the question: what is there already must do.
    if (std::all_of(all.begin(), all.end(), [](const auto& c) { return !c.refused.empty(); }))
      all.front().refused.clear();
    const auto rank = [&](const plan_candidate& c) {
      // CSR is there already and costs nothing: others must be better by more than a guess.
      return std::pair(!c.refused.empty(),
                       c.total_seconds * (is_csr(c.format) ? planning::least_gain : 1));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    explain();
    return std::move(decision_);
  }

private:
  static bool is_csr(std::string_view format) { return format == planning::csr_format::name; }

  void refuse(plan_candidate& c) const {
    const bool asked = !hints_.format.empty();
    const double limit =
        hints_.memory_limit > 0 ? static_cast<double>(hints_.memory_limit) : 2 * csr_.bytes;
    const bool changes = !asked && hints_.updates > 0;
    if (asked && hints_.format != c.format) {
      c.refused = asked_for();
    } else if (changes && c.format != planning::dynamic_csr_format::name) {
      c.refused = "entries will be inserted or erased, and only dynamic_csr takes them in place";
    } else if (is_csr(c.format)) {
      return; // it is there already
    } else if (changes) {
      refuse_beyond(c, static_cast<double>(hints_.memory_limit));
    } else if (f_.entries == 0 && !asked) {
      c.refused = "there are no entries";
    } else if (hints_.will_change) {
      c.refused = "the matrix will change, and only csr follows without being made anew";
    } else if (hints_.multiplies < 2 && !asked) {
      c.refused = "one product never repays a conversion";
    } else if (!asked || hints_.memory_limit > 0) {
      refuse_beyond(c, limit);
    }
  }
  /// 0: no limit.
  static void refuse_beyond(plan_candidate& c, double limit) {
    if (limit > 0 && c.bytes > limit)
      c.refused = fmt::format("it takes {:.0f} bytes, {:.0f} are allowed", c.bytes, limit);
  }

  [[nodiscard]] std::string asked_for() const {
    return fmt::format("{} was asked for{}", hints_.format,
                       by_environment_ ? " by LACUNA_FORCE_FORMAT" : "");
  }

  void say(std::string sentence) { decision_.reasons.push_back(std::move(sentence)); }

  void explain() {
    const plan_candidate& best = decision_.chosen();
    const row_statistics& rows = f_.row_length;
    const bool obeyed = hints_.format == best.format;
    if (obeyed && (by_environment_ || f_.sampled_groups == 0)) say(asked_for());
    if (hints_.format.empty() && hints_.updates > 0) return explain_updates(best);
    if (f_.entries == 0) return say("there are no entries: every format is as good");
    if (f_.sampled_groups > 0) { // else it was not looked at
      say(fmt::format("rows have {:.1f} ± {:.1f} entries, the longest {}", rows.mean,
                      rows.deviation, rows.longest));
      say(best.why);
      if (!is_csr(best.format)) return explain_gain(best);
    }
    if (is_csr(best.format) && !(obeyed && by_environment_)) explain_csr(best);
  }

  void explain_updates(const plan_candidate& best) {
    if (is_csr(best.format)) {
      const auto& all = decision_.candidates;
      const auto other = std::find_if(all.begin(), all.end(), [](const plan_candidate& c) {
        return c.format == planning::dynamic_csr_format::name;
      });
      return say(fmt::format("changes are announced, but dynamic_csr is out of the question: {}",
                             other->refused));
    }
    say(fmt::format("{:.0f} batches of changes are announced, which it takes in place; csr would "
                    "be made anew for each",
                    hints_.updates));
    // As it is when a batch has hit every row.
    const auto advice = advise_compaction(machine_, {f_.rows, f_.entries, 2 * f_.entries, 2, false},
                                          w_, hints_.multiplies / hints_.updates);
    if (f_.entries > 0)
      say(fmt::format("once every row has a second segment {} between batches: compact() {} then",
                      advice.reason, advice.pays ? "pays" : "does not pay"));
  }

  void explain_gain(const plan_candidate& best) {
    const double gained = csr_.seconds - best.seconds;
    say(fmt::format("{:.1f} bytes per entry instead of {:.1f} in csr; a product is predicted to "
                    "take {:.2f} times csr's time",
                    best.bytes / as_double(f_.entries), csr_.bytes / as_double(f_.entries),
                    best.seconds / csr_.seconds));
    if (gained > 0)
      say(fmt::format("making it costs about {:.0f} products of csr and is repaid by {:.0f}",
                      best.convert_seconds / csr_.seconds,
                      std::ceil(best.convert_seconds / gained)));
  }

  void explain_csr(const plan_candidate& best) {
    const auto& all = decision_.candidates;
    if (!hints_.format.empty() && hints_.format != best.format) {
      const auto asked = std::find_if(all.begin(), all.end(), [&](const plan_candidate& c) {
        return c.format == hints_.format;
      });
      return say(fmt::format("{}, but {}", asked_for(),
                             asked == all.end() ? "this matrix is none for it" : asked->refused));
    }
    if (hints_.will_change)
      return say("the matrix will change, so it stays as it is; with updates announced it would "
                 "be dynamic_csr");
    if (!hints_.format.empty()) return;
    if (hints_.multiplies < 2) return say("one product never repays a conversion");
    const auto other = std::find_if(all.begin(), all.end(), [](const plan_candidate& c) {
      return !is_csr(c.format) && c.refused.empty();
    });
    if (other != all.end())
      say(fmt::format("the next best, {}, is predicted to take {:.2f} times as long, its "
                      "conversion included",
                      other->format, other->total_seconds / best.total_seconds));
  }

  const spmv_features& f_;
  const type_widths& w_;
  const spmv_machine& machine_;
  const plan_hints& hints_;
  bool by_environment_;
  plan_candidate csr_;
  plan_decision decision_;
};

} // namespace

plan_decision choose_plan(const spmv_features& features, const type_widths& widths,
                          const spmv_machine& machine, const plan_hints& hints,
                          bool by_environment) {
  if (hints.multiplies < 0 || hints.transposed_multiplies < 0)
    throw bad_input("plan: the number of multiplies is negative");
  if (hints.updates < 0) throw bad_input("plan: the number of updates is negative");
  return chooser(features, widths, machine, hints, by_environment).decide();
}

} // namespace lacuna

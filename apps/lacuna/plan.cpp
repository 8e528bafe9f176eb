// lacuna plan A: the storage and kernel for products with A, and why. Measures nothing.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include "lacuna/full_decision.hpp"

namespace lacuna::app {
namespace {

struct plan_settings {
  std::string matrix;
  std::int64_t multiplies = 1000, transposed = 0, updates = 0;
  std::uint64_t memory_limit = 0;
  bool may_reorder = false, will_change = false;
  std::string format; ///< empty: planned
  io::read_options read;

  [[nodiscard]] plan_hints hints() const {
    plan_hints h;
    h.multiplies = static_cast<double>(multiplies);
    h.transposed_multiplies = static_cast<double>(transposed);
    h.memory_limit = memory_limit;
    h.may_reorder = may_reorder;
    h.will_change = will_change;
    h.format = format;
    h.updates = static_cast<double>(updates);
    return h;
  }
};

struct plan_made {
  std::int64_t rows = 0, cols = 0, entries = 0;
  plan_decision decision;
  std::string kernel;
  std::optional<plan_decision> transposed;
  double bytes = 0; ///< that products read matrices from, with what the plan has made
  spmv_machine machine;

  [[nodiscard]] double bytes_per_entry() const {
    return bytes / static_cast<double>(std::max<std::int64_t>(entries, 1));
  }
};

template <class T, class I, class O, space S>
plan_made make_plan(const context<S>& ctx, const csr<T, I, O>& a, const plan_hints& hints) {
  const auto& matrix = bring_to(ctx, a);
  const auto op = plan(ctx, matrix, hints);
  plan_made made{a.shape().row,  a.shape().col, a.size(), op.decision(), op.kernel(), {}, 0,
                 machine_of(ctx)};
  made.decision = decide_in_full(ctx, matrix, hints, made.machine);
  if (op.transposed_decision() != nullptr) made.transposed = *op.transposed_decision();
  made.bytes = static_cast<double>(op.bytes());
  if (op.format() == "csr") made.bytes += static_cast<double>(a.bytes());
  return made;
}

json as_json(const plan_options& options) {
  json object = json::object();
  for (const plan_option& o : options) object[o.name] = o.value;
  return object;
}
bool is_reordered(const plan_candidate& c) {
  return std::any_of(c.options.begin(), c.options.end(),
                     [](const plan_option& o) { return o.name == "reordered" && o.value != 0; });
}

json as_json(const std::vector<plan_candidate>& candidates) {
  json list = json::array();
  for (const plan_candidate& c : candidates)
    list.push_back({{"format", c.format},
                    {"kernel", c.kernel},
                    {"options", as_json(c.options)},
                    {"bytes", json_size(c.bytes)},
                    {"predicted_seconds", c.seconds},
                    {"conversion_seconds", c.convert_seconds},
                    {"total_seconds", c.total_seconds},
                    {"refused", c.refused.empty() ? json() : json(c.refused)}});
  return list;
}

void print_json_report(const plan_settings& s, const plan_made& made, const std::string& device) {
  const plan_candidate& chosen = made.decision.chosen();
  json object = {{"command", "plan"},
                 {"matrix", s.matrix},
                 {"format", chosen.format},
                 {"kernel", made.kernel},
                 {"device", device},
                 {"bytes", json_size(made.bytes)},
                 {"bytes_per_entry", made.bytes_per_entry()},
                 {"multiplies", s.multiplies},
                 {"transposed_multiplies", s.transposed},
                 {"predicted_seconds", chosen.total_seconds},
                 {"machine", made.machine.name},
                 {"origin", made.machine.origin},
                 {"remarks", made.machine.remarks},
                 {"reasons", made.decision.reasons},
                 {"candidates", as_json(made.decision.candidates)}};
  if (made.transposed)
    object["transposed"] = {{"format", made.transposed->chosen().format},
                            {"kernel", made.transposed->chosen().kernel},
                            {"reasons", made.transposed->reasons},
                            {"candidates", as_json(made.transposed->candidates)}};
  print_json(object);
}

std::string name_of_choice(const plan_candidate& c) {
  return fmt::format("{}{}, kernel {}", c.format, is_reordered(c) ? " in a new order" : "",
                     c.kernel);
}

void print_decision(const plan_decision& decision, std::int64_t multiplies) {
  print("  because\n");
  for (const std::string& reason : decision.reasons) print("    - {}\n", reason);
  print("  predicted for {} product{}, conversion included\n", multiplies,
        multiplies == 1 ? "" : "s");
  for (const plan_candidate& c : decision.candidates)
    print("    {:<10} {:<12} {:>9}  {:>9} each  {:>9} in all{}{}\n", c.format,
          is_reordered(c) ? "reordered" : c.kernel, human_bytes(c.bytes), human_seconds(c.seconds),
          human_seconds(c.total_seconds), c.refused.empty() ? "" : "  refused: ", c.refused);
}

void report(const options& o, const plan_settings& s, const plan_made& made,
            const std::string& device, const std::string& where) {
  if (o.json) return print_json_report(s, made, device);
  const plan_candidate& chosen = made.decision.chosen();
  if (o.quiet) {
    print("{} {} on {}\n", chosen.format, made.kernel, device);
    return;
  }
  print("{}: {}\n", shown(s.matrix), human_shape(made.rows, made.cols, made.entries));
  const std::string bytes =
      fmt::format("{} ({:.1f} bytes per entry)", human_bytes(made.bytes), made.bytes_per_entry());
  print("  take {}{}, on {}\n", name_of_choice(chosen), made.transposed ? "" : ", " + bytes, where);
  print_decision(made.decision, s.multiplies);
  if (made.transposed) {
    print("  for A^T take {}\n", name_of_choice(made.transposed->chosen()));
    print_decision(*made.transposed, s.transposed);
    print("  for both {}\n", bytes);
  }
  print("  with the costs of {}: {}\n", made.machine.name, shown(made.machine.origin));
  for (const std::string& remark : made.machine.remarks) print("    note: {}\n", shown(remark));
}

bool is_within(const plan_settings& s, const plan_candidate& c) {
  return s.memory_limit == 0 || c.bytes <= static_cast<double>(s.memory_limit);
}

/// csr is never refused, as it is there already: if it is chosen and over the limit, the best that
/// is not; throws out_of_memory if there is none.
std::string format_within(const plan_settings& s, const plan_decision& decision) {
  const plan_candidate& chosen = decision.chosen();
  for (const plan_candidate& c : decision.candidates)
    if (c.refused.empty() && is_within(s, c)) return c.format;
  throw out_of_memory(fmt::format("{} takes {:.0f} bytes, over the --memory-limit of {}",
                                  chosen.format, chosen.bytes, s.memory_limit),
                      static_cast<std::size_t>(chosen.bytes));
}

int run_plan(const options& o, const plan_settings& s) {
  return with_values(o.values, [&](auto zero) {
    using T = decltype(zero);
    return on_engine(o, [&](const auto& ctx) {
      const host_context host({o.threads});
      const auto loaded = load_matrix<T>(host, s.matrix, s.read, shows_progress(o));
      const auto make = [&](const plan_hints& hints) {
        return std::visit([&](const auto& a) { return make_plan(ctx, a, hints); }, loaded.matrix);
      };
      const plan_made made = naming(s.matrix, [&] {
        plan_hints hints = s.hints();
        plan_made first = make(hints);
        if (is_within(s, first.decision.chosen())) return first;
        hints.format = format_within(s, first.decision);
        return make(hints);
      });
      report(o, s, made, engine_name(ctx), engine_text(ctx));
      return static_cast<int>(exit_done);
    });
  });
}

} // namespace

void add_plan(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("plan", "the storage and kernel for products, with reasons");
  const auto s = std::make_shared<plan_settings>();
  add_matrix(*command, s->matrix);
  const auto products = CLI::Range(std::int64_t{0}, std::int64_t{1} << 40);
  command->add_option("--multiplies", s->multiplies, "products to plan for; default: 1000")
      ->check(products)
      ->option_text("N");
  command
      ->add_option("--transposed-multiplies", s->transposed,
                   "products with the transposed matrix; default: 0")
      ->check(products)
      ->option_text("N");
  command
      ->add_option("--memory-limit", s->memory_limit,
                   "bytes that the format may take; default: twice csr's")
      ->transform(CLI::AsSizeValue(true))
      ->option_text("SIZE");
  command->add_flag("--may-reorder", s->may_reorder, "rows and columns may be renumbered inside");
  command->add_flag("--will-change", s->will_change,
                    "the matrix will change without the plan being told: only csr follows");
  command
      ->add_option("--updates", s->updates,
                   "batches that insert or erase entries: dynamic_csr takes them; default: 0")
      ->check(products)
      ->option_text("N");
  add_format(*command, s->format);
  add_read_options(*command, s->read);
  command->footer(
      "Times are predictions, from costs that are built in or were measured by lacuna tune.\n"
      "A SIZE is in bytes; 500M is 500 million, 2G two thousand million. If no format that\n"
      "serves is within it, that is exit code 4.\n\n"
      "Examples:\n"
      "  lacuna plan gen:circuit:n=1000000\n"
      "  lacuna plan A.mtx --multiplies 50000 --memory-limit 2G --json");
  command->callback([&o, &chosen, s] { chosen = [&o, s] { return run_plan(o, *s); }; });
}

} // namespace lacuna::app

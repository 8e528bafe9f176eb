// lacuna demo: a tour of what there is, every step verified.
#include <CLI/CLI.hpp>

#include "common/clock.hpp"
#include "common/exit.hpp"
#include "common/text.hpp"
#include "lacuna/command.hpp"
#include "lacuna/demo_log.hpp"
#include "lacuna/demo_tour.hpp"

namespace lacuna::app {
namespace {

struct demo_settings {
  std::string matrix = "gen:poisson3d:n=80";
  io::read_options read;
};

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The last of the tour: three sentences, whichever engines it saw.
void print_verdict(int steps, double seconds, const demo_times& host, const demo_times& device) {
  const bool on_device = device.plain > 0;
  const demo_times& t = on_device ? device : host;
  print("✓ All {} results agree with the reference loops, in {} altogether.\n", steps,
        human_seconds(seconds));
  print(
      "  A product takes {} planned and {} in plain CSR, {:.2f} times as long; one with 8 vectors "
      "{}, where 8 products take {}.\n",
      human_seconds(t.planned), human_seconds(t.plain), t.plain / t.planned,
      human_seconds(t.eight_vectors), human_seconds(8 * t.plain));
  if (on_device && host.plain > 0)
    print("  The GPU's planned product is {:.0f} times as fast as the CPU's.\n",
          host.planned / device.planned);
  else if (host.reordered > 0)
    print(
        "  Shuffled rows make a product {:.2f} times as long; in the order of Cuthill and McKee it "
        "takes {}.\n",
        host.shuffled / host.plain, human_seconds(host.reordered));
  else
    print("  `lacuna plan` shows what was weighed, `lacuna help` what else there is.\n");
}

template <class T> int run_demo(const options& o, const demo_settings& s) {
  const stopwatch watch;
  const engine chosen = choose_engine(o.device);
  const host_context host({o.threads});
  const std::string& name = s.matrix;
  const auto loaded = load_matrix<T>(host, name, s.read, shows_progress(o));
  const csr<T>* const narrow = std::get_if<csr<T>>(&loaded.matrix);
  if (narrow == nullptr)
    throw unsupported("demo: " + name + " needs 64-bit indices; the tour is for smaller matrices");
  const csr<T>& a = *narrow;
  const bool talk = !o.json && !o.quiet;
  if (talk)
    print("Lacuna {}: A is {}, {} x {}, {} entries, {} in {}\n", LACUNA_VERSION, shown(name),
          human_count(a.shape().row), human_count(a.shape().col), human_count(a.size()),
          human_bytes(static_cast<double>(a.bytes())), sizeof(T) == 8 ? "f64" : "f32");

  demo_log log(o);
  demo_times on_host, on_device;
  // Left to itself the tour shows both engines.
  if (!chosen.device || o.device.kind == device_request::where::automatic) {
    log.begin_engine("host",
                     fmt::format("Running on the CPU, {}{}", plural(host.threads(), "thread"),
                                 chosen.device ? "" : ": " + chosen.why));
    on_host = demo_tour<T, space::host>(host, a, o.seed, log).run();
  }
  if constexpr (has_cuda)
    if (chosen.device) {
      const device_context device({.device = *chosen.device});
      log.begin_engine("cuda", fmt::format("Running on cuda:{}, {}: {}", *chosen.device,
                                           device.properties().name, chosen.why));
      on_device = demo_tour<T, space::device>(device, a, o.seed, log).run();
    }

  const bool right = log.failed() == 0;
  if (o.json) {
    const json object = {{"command", "demo"},
                         {"device", chosen.device ? "cuda" : "host"},
                         {"device_reason", chosen.why},
                         {"matrix", name},
                         {"rows", a.shape().row},
                         {"cols", a.shape().col},
                         {"nnz", a.size()},
                         {"precision", sizeof(T) == 8 ? "f64" : "f32"},
                         {"threads", host.threads()},
                         {"steps", log.steps()},
                         {"passed", right}};
    print_json(object);
  } else if (right && talk) {
    print("\n");
    print_verdict(log.passed(), watch.seconds(), on_host, on_device);
  } else if (right) {
    print("✓ {} verified against the reference loops\n", plural(log.passed(), "step"));
  } else {
    print("{}✗ {} of {} wrong\n", talk ? "\n" : "", log.failed(),
          plural(log.passed() + log.failed(), "step"));
  }
  return right ? exit_done : exit_failed;
}

} // namespace

void add_demo(CLI::App& cli, const options& o, action& chosen) {
  auto* command = cli.add_subcommand("demo", "a tour: the main operations, each result verified");
  const auto s = std::make_shared<demo_settings>();
  command->add_option("A", s->matrix, "a file, - or gen:NAME[:...]; default: " + s->matrix)
      ->option_text("MATRIX");
  add_read_options(*command, s->read);
  command->footer("Examples:\n"
                  "  lacuna demo\n"
                  "  lacuna demo gen:rmat:scale=16,edges=16 --precision f32");
  command->callback([&o, &chosen, s] {
    chosen = [&o, s] {
      return o.values == precision::f32 ? run_demo<float>(o, *s) : run_demo<double>(o, *s);
    };
  });
}

} // namespace lacuna::app

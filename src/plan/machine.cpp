// Costs of kernels, built in and from files.
#include <lacuna/plan/machine.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna {
namespace {

constexpr const char* class_names[spmv_class_count] = {"csr_rows",   "csr_tiles",    "csr_split",
                                                       "packed_csr", "ell_diagonal", "ell_even",
                                                       "ell_slices", "ell_sorted",   "csr_k"};

/// The fields of a cost in the order of the file's columns.
constexpr double spmv_cost::*fields[] = {&spmv_cost::fixed,  &spmv_cost::stream,
                                         &spmv_cost::gather, &spmv_cost::row,
                                         &spmv_cost::entry,  &spmv_cost::convert};
constexpr const char* field_names[] = {"fixed", "stream", "gather", "row", "entry", "convert"};

/// Other numbers of a machine, each a line of its own.
struct named_number {
  const char* name;
  double (*get)(const spmv_machine&);
  void (*set)(spmv_machine&, double);
};
#define LACUNA_NUMBER(word, field, type)                                                           \
  {                                                                                                \
    word, [](const spmv_machine& m) { return static_cast<double>(m.field); },                      \
        [](spmv_machine& m, double v) { m.field = static_cast<type>(v); }                          \
  }
#define LACUNA_THRESHOLD(word) LACUNA_NUMBER("spgemm_" #word, spgemm.word, std::int64_t)
constexpr named_number numbers[] = {LACUNA_NUMBER("device", device, bool),
                                    LACUNA_NUMBER("workers", workers, int),
                                    LACUNA_NUMBER("transposition", transposition, double),
                                    LACUNA_NUMBER("piece", piece, std::int64_t),
                                    LACUNA_NUMBER("few_rows", few_rows, std::int64_t),
                                    LACUNA_NUMBER("lane_entries", lane_entries, std::int64_t),
                                    LACUNA_NUMBER("padding", padding, double),
                                    LACUNA_NUMBER("csr_k_a_ssr", csr_k.a_ssr, double),
                                    LACUNA_NUMBER("csr_k_b_ssr", csr_k.b_ssr, double),
                                    LACUNA_NUMBER("csr_k_a_sr", csr_k.a_sr, double),
                                    LACUNA_NUMBER("csr_k_b_sr", csr_k.b_sr, double),
                                    LACUNA_THRESHOLD(merged_entries),
                                    LACUNA_THRESHOLD(merged_products),
                                    LACUNA_THRESHOLD(merged_products_of_few),
                                    LACUNA_THRESHOLD(light_products),
                                    LACUNA_THRESHOLD(few_rows),
                                    LACUNA_THRESHOLD(few_in_all),
                                    LACUNA_THRESHOLD(flat_length),
                                    LACUNA_THRESHOLD(tile_length)};

/// A host has no use for a device's thresholds.
bool concerns(const spmv_machine& m, const named_number& number) {
  return m.device || !std::string_view(number.name).starts_with("spgemm_");
}

double read_number(const char*& at, const char* end, const std::string& file, int line) {
  while (at != end && *at == ' ') ++at;
  double value = 0;
  const auto [rest, status] = std::from_chars(at, end, value);
  if (status != std::errc{} || !(value >= 0) || value > 1e6)
    throw bad_input("a number between 0 and 10^6 was expected", file, line);
  at = rest;
  return value;
}
void require_end(const char* at, const char* end, const std::string& file, int line) {
  while (at != end && (*at == ' ' || *at == '\r')) ++at;
  if (at != end) throw bad_input("more follows the last number", file, line);
}
[[noreturn]] void fail_to_write(const std::string& file, const std::string& why) {
  throw failed(detail::at_file("cannot write: " + why, file, 0));
}

} // namespace

const char* name_of(spmv_class c) { return class_names[static_cast<std::size_t>(c)]; }

spmv_machine hopper_machine(int multiprocessors) {
  spmv_machine m;
  m.name = "Hopper";
  m.origin = "built in";
  m.device = true;
  m.workers = multiprocessors;
  m.csr_k = csr_k_model::hopper();
  // fixed, stream, gather, row, entry, convert: a fit to 67 matrices in double and in float on an
  // H200 with one price of gathered bytes for all, then refined so that choices come out right.
  m.cost = {{{1.90e-6, 0.204e-12, 0.141e-12, 2.46e-12, 0, 0},
             {5.06e-6, 0.210e-12, 0.141e-12, 1.97e-12, 0.845e-12, 0},
             {8.55e-6, 0.347e-12, 0.141e-12, 0, 0.650e-12, 0},
             {3.16e-6, 0.158e-12, 0.141e-12, 2.45e-12, 0.808e-12, 6},
             {3.48e-6, 0.198e-12, 0.141e-12, 1.26e-12, 0.163e-12, 12},
             {4.96e-6, 0.0898e-12, 0.141e-12, 0.299e-12, 1.14e-12, 10},
             {4.83e-6, 0.111e-12, 0.141e-12, 0, 0.975e-12, 14},
             {2.68e-6, 0.113e-12, 0.141e-12, 8.80e-12, 0.412e-12, 18},
             {4.06e-6, 0.198e-12, 0.141e-12, 0.818e-12, 1.14e-12, 5}}};
  return m;
}

spmv_machine x86_machine(const std::string& simd, int threads) {
  spmv_machine m;
  m.name = fmt::format("x86 {}", simd);
  m.origin = "built in";
  m.workers = threads;
  m.transposition = 9;
  m.padding = 1.5;
  // fixed, stream, gather, row, entry, convert: a fit to 105 matrices on an EPYC (Zen 4, AVX-512)
  // with 2 threads, then refined so that choices come out right. Other instruction sets are taken
  // to be alike.
  m.cost = {{{0.56e-6, 1.96e-12, 11.4e-12, 1.14e-9, 0.189e-9, 0},
             {},
             {},
             {5.9e-6, 26.8e-12, 11.4e-12, 0, 0.0578e-9, 3},
             {1.0e-6, 1.18e-12, 11.4e-12, 0.281e-9, 0.161e-9, 16},
             {3.6e-6, 0, 11.4e-12, 0.224e-9, 0.207e-9, 13},
             {1.0e-6, 5.42e-12, 11.4e-12, 0.250e-9, 0.120e-9, 25},
             {4.0e-6, 18.3e-12, 11.4e-12, 0.186e-9, 0.0020e-9, 18},
             {1.4e-6, 1.96e-12, 11.4e-12, 1.14e-9, 0.189e-9, 3}}};
  for (spmv_cost& c : m.cost)
    for (double spmv_cost::*const field :
         {&spmv_cost::stream, &spmv_cost::gather, &spmv_cost::row, &spmv_cost::entry})
      c.*field *= 2.0 / threads;
  return m;
}

std::string machine_file(const std::string& machine_name) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string folder = variable("LACUNA_CONFIG");
  if (folder.empty() && !variable("XDG_CONFIG_HOME").empty())
    folder = variable("XDG_CONFIG_HOME") + "/lacuna";
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.config/lacuna";
  if (folder.empty()) return {};
  std::string name = machine_name;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return folder + "/spmv-" + name + ".txt";
}

std::optional<spmv_machine> read_machine(const std::string& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  spmv_machine m;
  m.origin = file;
  std::string text;
  std::array<bool, spmv_class_count> seen{};
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.empty() || text[0] == '#') continue;
    const std::size_t space = text.find(' ');
    const std::string key = text.substr(0, space);
    const char* at = space == std::string::npos ? text.data() + text.size() : text.data() + space;
    const char* const end = text.data() + text.size();
    if (key == "name") {
      m.name = space == std::string::npos ? "" : text.substr(space + 1);
    } else if (const auto* number = std::find_if(std::begin(numbers), std::end(numbers),
                                                 [&](const auto& n) { return key == n.name; });
               number != std::end(numbers)) {
      number->set(m, read_number(at, end, file, line));
      require_end(at, end, file, line);
    } else {
      const auto* const found = std::find(std::begin(class_names), std::end(class_names), key);
      if (found == std::end(class_names)) throw bad_input("unknown word '" + key + "'", file, line);
      const auto c = static_cast<std::size_t>(found - std::begin(class_names));
      for (double spmv_cost::*const field : fields)
        m.cost[c].*field = read_number(at, end, file, line);
      require_end(at, end, file, line);
      seen[c] = true;
    }
  }
  if (m.workers < 1 || m.piece < 1 || m.lane_entries < 1)
    throw bad_input("workers, piece and lane_entries must be at least 1", file, 0);
  for (std::size_t c = 0; c < seen.size(); ++c)
    if (!seen[c]) throw bad_input(std::string("no line for ") + class_names[c], file, 0);
  const csr_k_model built_in = m.device ? csr_k_model::hopper() : csr_k_model::cpu();
  m.csr_k.cases = built_in.cases;
  m.csr_k.entries = built_in.entries;
  return m;
}

std::vector<machine_number> numbers_of(const spmv_machine& m) {
  std::vector<machine_number> all;
  for (const auto& number : numbers)
    if (concerns(m, number)) all.push_back({number.name, number.get(m)});
  for (std::size_t c = 0; c < m.cost.size(); ++c)
    for (std::size_t f = 0; f < std::size(fields); ++f)
      all.push_back({fmt::format("{}.{}", class_names[c], field_names[f]), m.cost[c].*fields[f]});
  return all;
}

void write_machine(const std::string& file, const spmv_machine& m) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  const std::string temporary = file + ".new";
  {
    std::ofstream out(temporary);
    out << "# Costs of Lacuna's products on this machine, by lacuna tune. Seconds: fixed, a byte, "
           "a "
           "gathered byte,\n# a row, an entry; and making the format in products of CSR.\n";
    out << fmt::format("name {}\n", m.name);
    for (const auto& number : numbers)
      if (concerns(m, number)) out << fmt::format("{} {}\n", number.name, number.get(m));
    for (std::size_t c = 0; c < m.cost.size(); ++c) {
      out << class_names[c];
      for (double spmv_cost::*const field : fields) out << fmt::format(" {}", m.cost[c].*field);
      out << '\n';
    }
    out.flush();
    if (!out) fail_to_write(temporary, std::strerror(errno));
  }
  std::error_code failed;
  std::filesystem::rename(temporary, file, failed);
  if (failed) fail_to_write(file, failed.message());
}

namespace {
/// What is stored for a machine, read once in a process: planning must not wait for a disk.
const std::optional<spmv_machine>& stored_machine(const std::string& name) {
  static std::mutex guard;
  static std::map<std::string, std::optional<spmv_machine>> known;
  const std::scoped_lock lock(guard);
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, read_machine(machine_file(name))).first->second;
}
} // namespace

std::string machine_name(const host_context& ctx) {
  return fmt::format("{}, {} thread{}", simd_target(), ctx.threads(),
                     ctx.threads() == 1 ? "" : "s");
}
std::string machine_name(const device_context& ctx) { return ctx.properties().name; }

spmv_machine machine_of(const host_context& ctx) {
  const auto& stored = stored_machine(machine_name(ctx));
  return stored ? *stored : x86_machine(simd_target(), ctx.threads());
}
spmv_machine machine_of(const device_context& ctx) {
  const auto& stored = stored_machine(machine_name(ctx));
  return stored ? *stored : hopper_machine(ctx.properties().multiprocessors);
}

} // namespace lacuna

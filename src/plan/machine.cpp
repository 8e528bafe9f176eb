// Costs of kernels, built in and from files.
#include <lacuna/plan/machine.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "plan/formats/csr_k.hpp"

namespace lacuna {
namespace {

/// The fields of a cost in the order of the file's columns.
constexpr double spmv_cost::*fields[] = {&spmv_cost::fixed,  &spmv_cost::stream,
                                         &spmv_cost::gather, &spmv_cost::row,
                                         &spmv_cost::entry,  &spmv_cost::convert};
constexpr const char* field_names[] = {"fixed", "stream", "gather", "row", "entry", "convert"};

/// A machine's other numbers, each a line of its own.
struct named_number {
  std::string name;
  double least;
  std::function<double(const spmv_machine&)> get;
  std::function<void(spmv_machine&, double)> set;
};
#define LACUNA_NUMBER(word, field, type)                                                           \
  {                                                                                                \
    word, 0, [](const spmv_machine& m) { return static_cast<double>(m.field); },                   \
        [](spmv_machine& m, double v) { m.field = static_cast<type>(v); }                          \
  }
#define LACUNA_THRESHOLD(word) LACUNA_NUMBER("spgemm_" #word, spgemm.word, std::int64_t)
/// In the order of the file: the formats' between what runs and what sparse products go by.
const std::vector<named_number>& all_numbers() {
  static const std::vector<named_number> all = [] {
    std::vector<named_number> numbers = {LACUNA_NUMBER("device", device, bool),
                                         LACUNA_NUMBER("workers", workers, int)};
    for (const auto& row : planning::format_table())
      for (const auto& n : row.numbers) {
        const std::string name(n.name);
        numbers.push_back({name, n.least, [name](const spmv_machine& m) { return m.number(name); },
                           [name](spmv_machine& m, double v) { m.numbers[name] = v; }});
      }
    const named_number products[] = {LACUNA_THRESHOLD(merged_entries),
                                     LACUNA_THRESHOLD(merged_products),
                                     LACUNA_THRESHOLD(merged_products_of_few),
                                     LACUNA_THRESHOLD(light_products),
                                     LACUNA_THRESHOLD(few_rows),
                                     LACUNA_THRESHOLD(few_in_all),
                                     LACUNA_THRESHOLD(flat_length),
                                     LACUNA_THRESHOLD(tile_length),
                                     LACUNA_THRESHOLD(twin_products),
                                     LACUNA_THRESHOLD(twin_share),
                                     LACUNA_THRESHOLD(slice_products),
                                     LACUNA_THRESHOLD(slice_places),
                                     LACUNA_THRESHOLD(dense_products),
                                     LACUNA_THRESHOLD(one_pass_products),
                                     LACUNA_THRESHOLD(sorted_products)};
    numbers.insert(numbers.end(), std::begin(products), std::end(products));
    return numbers;
  }();
  return all;
}
#undef LACUNA_THRESHOLD
#undef LACUNA_NUMBER

/// The names of all kernels, in the order of the table.
std::vector<std::string> all_kernels() {
  std::vector<std::string> names;
  for (const auto& row : planning::format_table())
    for (const auto& k : row.kernels) names.emplace_back(k.name);
  return names;
}

/// A host has no use for a device's thresholds.
bool concerns(const spmv_machine& m, const named_number& number) {
  return m.device || !number.name.starts_with("spgemm_");
}

constexpr double largest = 1e6;
/// A file is some 2 KB. What is larger is none of ours, and not read to its end.
constexpr std::size_t most_bytes = std::size_t{1} << 16;

/// The numbers of a line, which holds nothing else; none if it does not.
std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  const char *at = text.data(), *const end = at + text.size();
  for (;;) {
    while (at != end && (*at == ' ' || *at == '\r')) ++at;
    if (at == end) return numbers;
    double value = 0;
    const auto [rest, status] = std::from_chars(at, end, value);
    if (status != std::errc{} || rest == at) return {};
    numbers.push_back(value);
    at = rest;
  }
}
bool is_in_range(double value, double least) { return value >= least && value <= largest; }

/// The file's text, or why there is none.
struct file_text {
  bool exists = false;
  std::string text, trouble;
};
file_text read_text(const std::string& file) {
  file_text result;
  std::error_code failed;
  const auto status = std::filesystem::status(file, failed);
  if (file.empty() || !std::filesystem::exists(status)) return result;
  result.exists = true;
  std::ifstream in;
  if (std::filesystem::is_regular_file(status)) in.open(file, std::ios::binary);
  result.text.resize(most_bytes + 1);
  if (!in.is_open() || !in.read(result.text.data(), most_bytes + 1).eof())
    result.trouble = in.is_open() && in ? "it is too large to be one" : "it cannot be read";
  result.text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return result;
}

/// Takes a file's lines into a machine, and notes what it could not take.
class machine_reader {
public:
  machine_reader(const std::string& file, spmv_machine built_in)
      : file_(file), m_(std::move(built_in)), device_(m_.device), workers_(m_.workers) {
    m_.origin = file;
    m_.remarks.clear();
  }

  void read(std::string_view text) {
    for (int line = 1; !text.empty(); ++line) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        remark(line, "the file is cut off here; the line is ignored");
        break;
      }
      read_line(text.substr(0, end), line);
      text.remove_prefix(end + 1);
    }
    finish();
  }
  spmv_machine result() && { return std::move(m_); }
  [[nodiscard]] bool fits() const { return fits_; }

private:
  void remark(int line, const std::string& what) {
    if (m_.remarks.size() < 20)
      m_.remarks.push_back(line > 0 ? fmt::format("{}:{}: {}", file_, line, what)
                                    : fmt::format("{}: {}", file_, what));
  }
  void read_line(std::string_view text, int line) {
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (text.empty() || text[0] == '#') return;
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view key = text.substr(0, space), rest = text.substr(space);
    if (key == "name") return read_name(rest, line);
    const std::vector<double> values = numbers_in(rest);
    if (key == "version") return read_version(values, line);
    for (const named_number& number : all_numbers())
      if (key == number.name) return read_number(number, values, line);
    const auto kernel = m_.cost.find(key);
    if (kernel == m_.cost.end()) return remark(line, unknown(key));
    read_cost(kernel->first, kernel->second, values, line);
  }
  static std::string unknown(std::string_view key) {
    std::string shown;
    for (const char c : key.substr(0, 40)) shown += c > ' ' && c < 127 ? c : '?';
    return fmt::format("unknown word '{}', ignored", shown);
  }
  void read_name(std::string_view rest, int line) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (std::any_of(rest.begin(), rest.end(), [](char c) { return c >= 0 && c < ' '; }))
      return remark(line, "a name with control characters, ignored");
    if (!rest.empty()) m_.name = rest.substr(0, 200);
  }
  void read_version(const std::vector<double>& values, int line) {
    if (values.size() != 1)
      remark(line, "a version is one number; ignored");
    else if (values[0] > machine_file_version)
      remark(line, fmt::format("written by a newer Lacuna (version {}, this is {})", values[0],
                               machine_file_version));
  }
  void read_number(const named_number& number, const std::vector<double>& values, int line) {
    if (values.size() != 1 || !is_in_range(values[0], number.least))
      return remark(line, fmt::format("{} is one number between {} and 10^6; ignored", number.name,
                                      number.least));
    number.set(m_, values[0]);
    seen_.insert(number.name);
  }
  void read_cost(const std::string& kernel, spmv_cost& cost, const std::vector<double>& values,
                 int line) {
    if (values.size() != std::size(fields) ||
        !std::all_of(values.begin(), values.end(), [](double v) { return is_in_range(v, 0); }))
      return remark(line, fmt::format("{} has {} numbers between 0 and 10^6; ignored", kernel,
                                      std::size(fields)));
    for (std::size_t f = 0; f < std::size(fields); ++f) cost.*fields[f] = values[f];
    seen_.insert(kernel);
  }
  void finish() {
    std::string missing;
    const auto look_for = [&](const std::string& name) {
      if (!seen_.contains(name)) missing += (missing.empty() ? "" : ", ") + name;
    };
    fits_ = m_.device == device_;
    if (fits_ && m_.workers != workers_)
      remark(0, fmt::format("measured with {} workers, there are {}", m_.workers, workers_));
    m_.device = device_;
    m_.workers = workers_;
    for (const named_number& number : all_numbers())
      if (concerns(m_, number)) look_for(number.name);
    for (const std::string& kernel : all_kernels()) look_for(kernel);
    if (!missing.empty()) remark(0, fmt::format("nothing about {}: as built in", missing));
  }

  const std::string& file_;
  spmv_machine m_;
  bool device_, fits_ = true;
  int workers_;
  std::set<std::string> seen_;
};

[[noreturn]] void fail_to_write(const std::string& file, const std::string& why) {
  throw failed(detail::at_file("cannot write: " + why, file, 0));
}

} // namespace

const spmv_cost& spmv_machine::of(std::string_view kernel) const {
  const auto entry = cost.find(kernel);
  if (entry == cost.end()) throw std::out_of_range("lacuna: no kernel " + std::string(kernel));
  return entry->second;
}
spmv_cost& spmv_machine::of(std::string_view kernel) {
  return const_cast<spmv_cost&>(std::as_const(*this).of(kernel));
}
double spmv_machine::number(std::string_view which) const {
  const auto entry = numbers.find(which);
  if (entry == numbers.end()) throw std::out_of_range("lacuna: no number " + std::string(which));
  return entry->second;
}

namespace {
/// With the costs and thresholds that the formats have for it.
spmv_machine machine_with(bool device) {
  spmv_machine m;
  m.origin = "built in";
  m.device = device;
  for (const auto& row : planning::format_table()) {
    for (const auto& k : row.kernels) m.cost[std::string(k.name)] = device ? k.h200 : k.x86;
    for (const auto& n : row.numbers) m.numbers[std::string(n.name)] = device ? n.h200 : n.x86;
  }
  return m;
}
} // namespace

// Costs of the H200: a fit to 67 matrices in double and in float with one price of gathered bytes
// for all, then refined so that choices come out right.
spmv_machine hopper_machine(int multiprocessors) {
  spmv_machine m = machine_with(true);
  m.name = "Hopper";
  m.workers = multiprocessors;
  return m;
}

double memory_bandwidth(const device_properties& p) {
  // Both edges of the clock carry data.
  return 2e3 * p.memory_clock_khz * (p.memory_bus_bits / 8.0);
}

namespace {
// What an H200's driver tells of it.
constexpr double h200_bandwidth = 2e3 * 3'201'000 * (6144 / 8.0);
constexpr double h200_multiprocessors = 132;
constexpr double h200_l2_bytes = 60.0 * (1 << 20);

/// Without a clock: bits a second of a pin, as stacked memory (buses of thousands of bits) and
/// others had them between 2020 and 2024: 3.2 to 8 and 12.5 to 28 Gbit.
double guessed_bandwidth(const device_properties& p) {
  return p.memory_bus_bits / 8.0 * (p.memory_bus_bits >= 2048 ? 5.2e9 : 18e9);
}
} // namespace

spmv_machine scaled_machine(const device_properties& p) {
  spmv_machine m = hopper_machine(p.multiprocessors);
  if (!p.name.empty()) m.name = p.name;
  if (p.compute_capability > 0 && p.compute_capability < 90) {
    planning::csr_k_format::set_model(m, csr_k_model::ampere());
    m.numbers["csr_k_factors"] = 2;
  }
  const double slower_cores = h200_multiprocessors / std::max(p.multiprocessors, 1);
  double slower_memory = slower_cores;
  std::string guess = ", its memory's speed guessed from its multiprocessors";
  if (const double told = memory_bandwidth(p); told > 0) {
    slower_memory = h200_bandwidth / told;
    guess.clear();
  } else if (p.memory_bus_bits > 0) {
    slower_memory = h200_bandwidth / guessed_bandwidth(p);
    guess = ", its memory's speed guessed from its bus";
  }
  const double smaller_l2 =
      p.l2_bytes == 0 ? 1 : std::max(1.0, h200_l2_bytes / static_cast<double>(p.l2_bytes));
  const double slower_gather = slower_cores * smaller_l2;
  const auto is_one = [](double factor) { return std::abs(factor - 1) < 0.02; };
  if (guess.empty() && is_one(slower_memory) && is_one(slower_gather)) return m;
  m.origin = "built in, scaled from an H200" + guess;
  for (auto& [kernel, c] : m.cost) {
    // A fit cannot tell bytes from the rows and entries that they belong to: all three are taken
    // for the memory's.
    c.stream *= slower_memory;
    c.row *= slower_memory;
    c.entry *= slower_memory;
    c.gather *= slower_gather;
  }
  return m;
}

// A fit to 105 matrices on an EPYC (Zen 4, AVX-512) with 2 threads, then refined so that choices
// come out right; csr_rows and ell_sorted again on an EPYC without AVX-512, on 91 matrices: choices
// take 1.025 times as long as the best candidate. Other instruction sets are taken to be alike.
spmv_machine x86_machine(const std::string& simd, int threads) {
  spmv_machine m = machine_with(false);
  m.name = fmt::format("x86 {}", simd);
  m.workers = threads;
  for (auto& [kernel, c] : m.cost)
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

std::optional<spmv_machine> read_machine(const std::string& file, const spmv_machine& built_in) {
  const file_text contents = read_text(file);
  if (!contents.exists) return std::nullopt;
  const auto unused = [&](const std::string& why) {
    spmv_machine m = built_in;
    m.remarks = {fmt::format("{}: {}, so it is not used", file, why)};
    return m;
  };
  if (!contents.trouble.empty()) return unused(contents.trouble);
  machine_reader reader(file, built_in);
  reader.read(contents.text);
  if (!reader.fits()) return unused(built_in.device ? "it is of a host" : "it is of a device");
  return std::move(reader).result();
}

std::vector<machine_number> numbers_of(const spmv_machine& m) {
  std::vector<machine_number> all;
  for (const named_number& number : all_numbers())
    if (concerns(m, number)) all.push_back({number.name, number.get(m)});
  for (const std::string& kernel : all_kernels())
    for (std::size_t f = 0; f < std::size(fields); ++f)
      all.push_back({fmt::format("{}.{}", kernel, field_names[f]), m.of(kernel).*fields[f]});
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
    out << fmt::format("version {}\nname {}\n", machine_file_version, m.name);
    for (const named_number& number : all_numbers())
      if (concerns(m, number)) out << fmt::format("{} {}\n", number.name, number.get(m));
    for (const std::string& kernel : all_kernels()) {
      out << kernel;
      for (double spmv_cost::*const field : fields) out << fmt::format(" {}", m.of(kernel).*field);
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
spmv_machine stored_or(const std::string& name, const spmv_machine& built_in) {
  static std::mutex guard;
  static std::map<std::string, std::optional<spmv_machine>> known;
  const std::scoped_lock lock(guard);
  auto entry = known.find(name);
  if (entry == known.end())
    entry = known.emplace(name, read_machine(machine_file(name), built_in)).first;
  return entry->second ? *entry->second : built_in;
}
} // namespace

std::string machine_name(const host_context& ctx) {
  return fmt::format("{}, {} thread{}", simd_target(), ctx.threads(),
                     ctx.threads() == 1 ? "" : "s");
}
std::string machine_name(const device_context& ctx) { return ctx.properties().name; }

spmv_machine built_in_machine(const host_context& ctx) {
  return x86_machine(simd_target(), ctx.threads());
}
spmv_machine built_in_machine(const device_context& ctx) {
  return scaled_machine(ctx.properties());
}
spmv_machine machine_of(const host_context& ctx) {
  return stored_or(machine_name(ctx), built_in_machine(ctx));
}
spmv_machine machine_of(const device_context& ctx) {
  return stored_or(machine_name(ctx), built_in_machine(ctx));
}

} // namespace lacuna

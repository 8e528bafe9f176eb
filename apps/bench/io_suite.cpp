#include "bench/io_suite.hpp"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bench/matrices.hpp"
#include "bench/page.hpp"
#include "bench/peers/scipy.hpp"
#include "common/clock.hpp"
#include "common/print.hpp"
#include "common/text.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/memory.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>

namespace lacuna::bench {
namespace {

using json = nlohmann::ordered_json;
using app::median;
using app::stopwatch;
using matrix = csr<double, std::int32_t, std::int32_t>;

/// Small about 20 MB of .mtx, medium about 500, large about 2000. The first has values of 16 or 17
/// digits, the second small whole numbers.
std::vector<matrix_source> set_of(size_class size) {
  if (size == size_class::small) return {{"uniform:rows=40000"}, {"poisson3d:n=56"}};
  if (size == size_class::large) return {{"uniform:rows=3300000"}, {"poisson3d:n=244"}};
  return {{"uniform:rows=830000"}, {"poisson3d:n=160"}};
}

class folder {
public:
  explicit folder(const std::string& parent)
      : path_(std::filesystem::path(parent.empty() ? std::filesystem::temp_directory_path().string()
                                                   : parent) /
              fmt::format("lacuna-bench-{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

/// read(2) of the whole file into one buffer; `cold` asks the system to forget its pages before.
double seconds_to_read(const std::string& path, bool cold) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  if (cold) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  std::vector<char> buffer(1 << 20);
  const stopwatch watch;
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  const double seconds = watch.seconds();
  ::close(fd);
  return seconds;
}

/// write(2) of that many bytes, and fsync.
double seconds_to_write(const std::string& path, std::int64_t bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  std::vector<char> buffer(1 << 20, 'x');
  const stopwatch watch;
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t put = ::write(fd, buffer.data(), buffer.size());
    if (put <= 0) break;
    done += put;
  }
  ::fsync(fd);
  const double seconds = watch.seconds();
  ::close(fd);
  ::unlink(path.c_str());
  return seconds;
}

bool same(const matrix& a, const matrix& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof x[0]) == 0;
  };
  return a.shape() == b.shape() && equal(a.rowptr(), b.rowptr()) && equal(a.colind(), b.colind()) &&
         equal(a.values(), b.values());
}

struct measured {
  std::vector<double> read, write, scipy_read, scipy_write, cached, disk, disk_write;
  std::int64_t file_bytes = 0, peak = 0;
  bool right = true;
  std::string trouble;
};

measured measure(const host_context& ctx, const matrix& a, const folder& place,
                 const std::string& ending, int rounds, scipy& peer) {
  measured m;
  const std::string file = place.file("a" + ending), other = place.file("b" + ending);
  try {
    for (int round = 0; round < rounds; ++round) { // interleaved: noise meets all alike
      stopwatch watch;
      io::write(ctx, file, a);
      m.write.push_back(watch.seconds());
      m.file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
      const std::int64_t before = memory(space::host).in_use;
      reset_memory_peak(space::host);
      watch = {};
      const auto b = io::read_csr<double>(ctx, file);
      m.read.push_back(watch.seconds());
      m.peak = memory(space::host).peak - before;
      m.right = m.right && same(a, b);
      if (const double seconds = peer.read(file); seconds > 0) m.scipy_read.push_back(seconds);
      if (const double seconds = peer.write(other); seconds > 0) m.scipy_write.push_back(seconds);
      m.cached.push_back(seconds_to_read(file, false));
      m.disk_write.push_back(seconds_to_write(other, m.file_bytes));
      m.disk.push_back(seconds_to_read(file, true));
    }
  } catch (const unsupported& e) {
    m.trouble = e.what();
  }
  std::filesystem::remove(file);
  std::filesystem::remove(other);
  return m;
}

json figures(const std::vector<double>& seconds, std::int64_t bytes) {
  if (seconds.empty()) return nullptr;
  return {{"seconds", median(seconds)},
          {"mbytes_per_s", static_cast<double>(bytes) / median(seconds) * 1e-6}};
}

void print_line(const char* name, const std::vector<double>& seconds, std::int64_t bytes,
                const std::vector<double>& peer) {
  if (seconds.empty()) return;
  const double t = median(seconds);
  app::print("    {:<22} {:>9} {:>9.0f} MB/s  {}\n", name, app::human_seconds(t),
             static_cast<double>(bytes) / t * 1e-6,
             peer.empty() ? "" : fmt::format("{:.2f} x SciPy", median(peer) / t));
}

void print(const std::string& ending, const measured& m, double matrix_bytes) {
  app::print("  {}: {}, peak memory {:.2f} x the matrix{}\n", ending,
             app::human_bytes(static_cast<double>(m.file_bytes)),
             static_cast<double>(m.peak) / matrix_bytes, m.right ? "" : "  NOT THE SAME MATRIX");
  print_line("read, Lacuna", m.read, m.file_bytes, m.scipy_read);
  print_line("read, SciPy", m.scipy_read, m.file_bytes, {});
  print_line("limit: page cache", m.cached, m.file_bytes, {});
  print_line("limit: disk", m.disk, m.file_bytes, {});
  print_line("write, Lacuna", m.write, m.file_bytes, m.scipy_write);
  print_line("write, SciPy", m.scipy_write, m.file_bytes, {});
  print_line("limit: write, sync", m.disk_write, m.file_bytes, {});
  std::fflush(stdout);
}

} // namespace

bool run_io(const settings& s) {
  const host_context ctx({s.threads});
  const folder place(s.folder);
  for (const auto& ending : s.endings)
    if (!io::is_writable_name("a" + ending)) throw bad_input("--endings: no writer for " + ending);
  const int rounds = s.repeat > 0 ? s.repeat : 5;
  scipy peer;
  app::print("lacuna-bench io · files · {} threads\n  {} SciPy      {}\n", ctx.threads(),
             peer.is_there() ? "+" : "-", peer.about());
  json document = {{"lacuna", LACUNA_VERSION},
                   {"suite", "io"},
                   {"threads", ctx.threads()},
                   {"scipy", peer.about()},
                   {"results", json::array()}};
  bool right = true;
  for (const auto& source : s.matrices.empty() ? set_of(s.size) : choose_matrices(s, s.size)) {
    const matrix a = load(ctx, source);
    app::print("\n{} · {} x {}, {} entries, {} as CSR\n", source.name,
               app::human_count(a.shape().row), app::human_count(a.shape().col),
               app::human_count(a.size()), app::human_bytes(static_cast<double>(a.bytes())));
    for (const auto& ending : s.endings) {
      const measured m = measure(ctx, a, place, ending, rounds, peer);
      if (!m.trouble.empty()) {
        app::print("  {}: left out: {}\n", ending, m.trouble);
        continue;
      }
      right = right && m.right;
      print(ending, m, static_cast<double>(a.bytes()));
      document["results"].push_back({{"matrix", source.name},
                                     {"ending", ending},
                                     {"file_bytes", m.file_bytes},
                                     {"matrix_bytes", a.bytes()},
                                     {"peak_bytes", m.peak},
                                     {"same", m.right},
                                     {"read", figures(m.read, m.file_bytes)},
                                     {"write", figures(m.write, m.file_bytes)},
                                     {"scipy_read", figures(m.scipy_read, m.file_bytes)},
                                     {"scipy_write", figures(m.scipy_write, m.file_bytes)},
                                     {"page_cache", figures(m.cached, m.file_bytes)},
                                     {"disk", figures(m.disk, m.file_bytes)},
                                     {"disk_write", figures(m.disk_write, m.file_bytes)}});
    }
  }
  keep_figures(s, document);
  return right;
}

} // namespace lacuna::bench

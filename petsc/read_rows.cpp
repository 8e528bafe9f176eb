#include "read_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "together.hpp"
#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/op/from_triplets.hpp>

namespace lacuna::petsc {
namespace {

struct entry {
  std::int32_t row, col;
  double value;
};

struct place {
  int rank = 0, ranks = 1;
};
place place_in(MPI_Comm comm) {
  place p;
  MPI_Comm_rank(comm, &p.rank);
  MPI_Comm_size(comm, &p.ranks);
  return p;
}

/// An open file, or none.
class file {
public:
  file(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  explicit file(int fd) : fd_(fd) {}
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  /// At most `size` bytes from there; fewer at the file's end.
  [[nodiscard]] std::string read(std::int64_t at, std::int64_t size) const {
    std::string text(static_cast<std::size_t>(size), '\0');
    std::int64_t got = 0;
    while (got < size) {
      const ssize_t now = ::pread(fd_, text.data() + got, static_cast<std::size_t>(size - got),
                                  static_cast<off_t>(at + got));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) throw failed(std::string("cannot read: ") + std::strerror(errno));
      if (now == 0) break;
      got += now;
    }
    text.resize(static_cast<std::size_t>(got));
    return text;
  }

private:
  int fd_;
};

/// What stands before the entries of a coordinate file.
struct text_header {
  std::string banner;
  std::int64_t rows = 0, cols = 0, entries = 0;
  std::int64_t lines = 0; ///< with the line of the sizes
  std::int64_t bytes = 0;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Nothing but whether it is a plain coordinate file and where its entries begin; what is wrong
/// with it the readers tell.
bool find_header(const file& from, text_header& h) {
  std::string text;
  for (std::int64_t room = 1 << 16;; room *= 4) {
    text = from.read(0, room);
    const bool whole = static_cast<std::int64_t>(text.size()) < room;
    if (!lower(text.substr(0, 32)).starts_with("%%matrixmarket matrix coordinat")) return false;
    h.lines = 0;
    std::size_t at = 0;
    while (true) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) break;
      const std::string line = text.substr(at, end - at);
      ++h.lines;
      if (h.lines == 1) h.banner = line;
      at = end + 1;
      if (line.starts_with("%") || line.find_first_not_of(" \t\r") == std::string::npos) continue;
      std::istringstream sizes(line);
      h.bytes = static_cast<std::int64_t>(at);
      return static_cast<bool>(sizes >> h.rows >> h.cols >> h.entries) && h.rows >= 0 &&
             h.cols >= 0;
    }
    if (whole) return false;
  }
}

/// This rank's lines of [begin, end): those that begin there.
std::string own_lines(const file& from, std::int64_t begin, std::int64_t end, place p) {
  const std::int64_t size = end - begin;
  const std::int64_t low =
      begin + size / p.ranks * p.rank + std::min<std::int64_t>(size % p.ranks, p.rank);
  const std::int64_t high = low + size / p.ranks + (p.rank < size % p.ranks ? 1 : 0);
  if (low == high) return {};
  // One byte before tells whether a line begins at low.
  const std::int64_t from_byte = p.rank == 0 ? low : low - 1;
  std::string text = from.read(from_byte, high - from_byte);
  if (p.rank != 0) {
    const std::size_t first = text.find('\n');
    if (first == std::string::npos) return {};
    text.erase(0, first + 1);
  }
  if (text.empty() || text.back() == '\n') return text;
  for (std::int64_t at = high; at < end;) { // the rest of the last line
    const std::string more = from.read(at, std::min<std::int64_t>(end - at, 4096));
    const std::size_t stop = more.find('\n');
    text.append(more, 0, stop == std::string::npos ? stop : stop + 1);
    if (stop != std::string::npos || more.empty()) break;
    at += static_cast<std::int64_t>(more.size());
  }
  return text;
}

struct line_count {
  std::int64_t lines = 0, entries = 0;
};
line_count count_lines(const std::string& text) {
  line_count n;
  for (std::size_t at = 0; at < text.size(); ++n.lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t first = text.find_first_not_of(" \t\r", at);
    n.entries += first < end && text[first] != '%' ? 1 : 0;
    at = end + 1;
  }
  return n;
}

/// The share's entries, parsed by the reader of Matrix Market: it gets a file of its own, in
/// memory, with this share alone. Faults are told with the line of the real one.
io::file_triplets<double> parse_share(const std::string& name, const text_header& h,
                                      const std::string& text, const line_count& n,
                                      std::int64_t lines_before, const io::read_options& options) {
  const file memory(::memfd_create("share.mtx", MFD_CLOEXEC));
  const std::string head = fmt::format("{}\n{} {} {}\n", h.banner, h.rows, h.cols, n.entries);
  for (const std::string* part : {&head, &text})
    for (std::size_t at = 0; at < part->size();) {
      const ssize_t put = ::write(memory.fd(), part->data() + at, part->size() - at);
      if (put < 0)
        throw out_of_memory("reading " + name + ": no memory for a share of its text", text.size());
      at += static_cast<std::size_t>(put);
    }
  const std::string path = fmt::format("/proc/self/fd/{}", memory.fd());
  try {
    return io::read_triplets<double>(host_context({1}), path, options);
  } catch (const bad_input& e) {
    const std::string where = detail::at_file("", e.file(), e.line());
    std::string what = e.what();
    if (what.starts_with(where)) what.erase(0, where.size());
    throw bad_input(what, name, e.line() <= 2 ? e.line() : e.line() - 2 + lines_before);
  }
}

std::vector<entry> unfolded(const io::file_triplets<double>& read) {
  std::vector<entry> all;
  std::visit(
      [&](const auto& t) {
        const double mirrored = read.about.structure == io::symmetry::skew_symmetric ? -1 : 1;
        all.reserve(static_cast<std::size_t>(t.rowind.size()));
        for (std::int64_t k = 0; k < t.rowind.size(); ++k) {
          const auto row = static_cast<std::int32_t>(t.rowind[k]);
          const auto col = static_cast<std::int32_t>(t.colind[k]);
          const double value = t.values.empty() ? 1 : t.values[k];
          all.push_back({row, col, value});
          if (read.about.structure != io::symmetry::general && row != col)
            all.push_back({col, row, mirrored * value});
        }
      },
      read.entries);
  return all;
}

/// Where each rank's rows begin, from entries counted in bins of rows: about equal numbers of
/// entries for each.
std::vector<std::int64_t> deal_rows(MPI_Comm comm, std::int64_t rows, place p,
                                    const std::vector<entry>& entries) {
  const std::int64_t bins =
      std::min<std::int64_t>(rows, std::max<std::int64_t>(4096, 16 * p.ranks));
  std::vector<std::int64_t> count(static_cast<std::size_t>(bins));
  for (const entry& e : entries) ++count[static_cast<std::size_t>(e.row * bins / rows)];
  if (bins > 0)
    MPI_Allreduce(MPI_IN_PLACE, count.data(), static_cast<int>(bins), MPI_INT64_T, MPI_SUM, comm);
  // A row costs something, too, entries or not.
  const std::int64_t per_bin = bins == 0 ? 0 : rows / bins + 1;
  std::int64_t all = 0;
  for (std::int64_t& c : count) all += c += per_bin;
  std::vector<std::int64_t> begin(static_cast<std::size_t>(p.ranks) + 1, rows);
  begin[0] = 0;
  std::int64_t sum = 0, bin = 0;
  for (int r = 1; r < p.ranks; ++r) {
    while (bin < bins && sum + count[static_cast<std::size_t>(bin)] / 2 < all * r / p.ranks)
      sum += count[static_cast<std::size_t>(bin++)];
    begin[static_cast<std::size_t>(r)] = bins == 0 ? 0 : (bin * rows + bins - 1) / bins;
  }
  return begin;
}

/// Every entry to the rank that owns its row, in the order of ranks and of their entries.
std::vector<entry> exchange(MPI_Comm comm, place p, const std::vector<std::int64_t>& begin,
                            std::vector<entry> entries) {
  const auto ranks = static_cast<std::size_t>(p.ranks);
  const auto owner = [&](const entry& e) {
    return std::upper_bound(begin.begin(), begin.end() - 1, e.row) - begin.begin() - 1;
  };
  std::vector<int> send(ranks), receive(ranks), send_at(ranks + 1), receive_at(ranks + 1);
  for (const entry& e : entries) ++send[static_cast<std::size_t>(owner(e))];
  MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm);
  std::partial_sum(send.begin(), send.end(), send_at.begin() + 1);
  std::partial_sum(receive.begin(), receive.end(), receive_at.begin() + 1);
  std::vector<entry> ordered, mine;
  together(comm, [&] {
    ordered.resize(entries.size());
    std::vector<int> next(send_at.begin(), send_at.end() - 1);
    for (const entry& e : entries)
      ordered[static_cast<std::size_t>(next[static_cast<std::size_t>(owner(e))]++)] = e;
    std::vector<entry>().swap(entries);
    mine.resize(static_cast<std::size_t>(receive_at.back()));
  });
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(sizeof(entry), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Alltoallv(ordered.data(), send.data(), send_at.data(), type, mine.data(), receive.data(),
                receive_at.data(), type, comm);
  MPI_Type_free(&type);
  return mine;
}

void require_narrow(std::int64_t rows, std::int64_t cols) {
  if (!fits<std::int32_t>(rows) || !fits<std::int32_t>(cols))
    throw bad_input(
        fmt::format("{} x {}: with --mpi rows and columns are numbered in 32 bits", rows, cols));
}

owned_rows owned(std::int64_t rows, std::int64_t cols, const std::vector<std::int64_t>& begin,
                 place p) {
  owned_rows result;
  result.rows = rows;
  result.cols = cols;
  result.begin = begin[static_cast<std::size_t>(p.rank)];
  result.end = begin[static_cast<std::size_t>(p.rank) + 1];
  return result;
}

/// From shares of the text.
owned_rows read_shares(MPI_Comm comm, const std::string& name, const file& from, std::int64_t size,
                       const text_header& h, const io::read_options& options) {
  const place p = place_in(comm);
  std::string text;
  line_count n;
  together(comm, [&] {
    require_narrow(h.rows, h.cols);
    text = own_lines(from, h.bytes, size, p);
    n = count_lines(text);
  });
  std::int64_t lines_before = 0, total = n.entries;
  MPI_Exscan(&n.lines, &lines_before, 1, MPI_INT64_T, MPI_SUM, comm);
  if (p.rank == 0) lines_before = 0;
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, comm);
  std::vector<entry> entries;
  int triangles[2] = {0, 0}; // below, above
  bool general = true;
  together(comm, [&] {
    const auto read = parse_share(name, h, text, n, h.lines + lines_before, options);
    if (total != h.entries)
      throw bad_input(
          total < h.entries
              ? fmt::format("the file ends after {} of the {} entries that line {} promises", total,
                            h.entries, h.lines)
              : fmt::format("more than the {} entries that line {} promises", h.entries, h.lines),
          name, 0);
    general = read.about.structure == io::symmetry::general;
    std::visit(
        [&](const auto& t) {
          for (std::int64_t k = 0; k < t.rowind.size(); ++k) {
            if (t.rowind[k] > t.colind[k]) triangles[0] = 1;
            if (t.rowind[k] < t.colind[k]) triangles[1] = 1;
          }
        },
        read.entries);
    entries = unfolded(read);
  });
  std::string().swap(text);
  MPI_Allreduce(MPI_IN_PLACE, triangles, 2, MPI_INT, MPI_MAX, comm);
  if (!general && triangles[0] + triangles[1] == 2)
    throw bad_input(
        "entries on both sides of the diagonal: a file that is not general holds one triangle",
        name, 0);
  const auto begin = deal_rows(comm, h.rows, p, entries);
  owned_rows result = owned(h.rows, h.cols, begin, p);
  std::vector<entry> mine = exchange(comm, p, begin, std::move(entries));
  together(comm, [&] {
    for (entry& e : mine) e.row -= static_cast<std::int32_t>(result.begin);
    result.matrix = from_triplets<std::int32_t, std::int32_t>(
        host_context({1}),
        {static_cast<std::int32_t>(result.end - result.begin), static_cast<std::int32_t>(h.cols)},
        mine, options.duplicates);
  });
  return result;
}

/// From all of it, which every rank has.
owned_rows keep_rows(MPI_Comm comm, const io::any_csr<double>& whole) {
  const place p = place_in(comm);
  return std::visit(
      [&](const auto& a) {
        require_narrow(a.shape().row, a.shape().col);
        const auto* const rowptr = a.rowptr().data();
        const std::int64_t rows = a.shape().row;
        std::vector<std::int64_t> begin(static_cast<std::size_t>(p.ranks) + 1, rows);
        for (int r = 0; r < p.ranks; ++r) {
          const std::int64_t wanted = (std::int64_t{a.size()} + rows) * r / p.ranks;
          std::int64_t low = 0,
                       high = rows; // the first row with as many entries and rows before it
          while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (rowptr[middle] + middle < wanted)
              low = middle + 1;
            else
              high = middle;
          }
          begin[static_cast<std::size_t>(r)] = low;
        }
        owned_rows result = owned(rows, a.shape().col, begin, p);
        const std::int64_t first = rowptr[result.begin], last = rowptr[result.end];
        result.matrix = csr<double, std::int32_t, std::int32_t>(
            host_context({1}),
            {static_cast<std::int32_t>(result.end - result.begin),
             static_cast<std::int32_t>(a.shape().col)},
            detail::integer<std::int32_t>(last - first, "a rank's entries"), a.order());
        for (std::int64_t r = result.begin; r <= result.end; ++r)
          result.matrix.rowptr()[r - result.begin] = static_cast<std::int32_t>(rowptr[r] - first);
        std::copy(a.colind().data() + first, a.colind().data() + last,
                  result.matrix.colind().data());
        std::copy(a.values().data() + first, a.values().data() + last,
                  result.matrix.values().data());
        return result;
      },
      whole);
}

io::any_csr<double> whole_matrix(const std::string& name, const io::read_options& options) {
  const host_context one({1});
  if (name.starts_with("gen:"))
    return gen::generate<double, std::int32_t, std::int64_t>(one, name.substr(4));
  return io::read<double>(one, name, options).matrix;
}

} // namespace

owned_rows read_rows(MPI_Comm comm, const std::string& name, const io::read_options& options) {
  owned_rows result;
  bool by_bytes = false;
  text_header h;
  const file from(name, O_RDONLY);
  struct stat about {};
  together(comm, [&] {
    by_bytes = from.fd() >= 0 && ::fstat(from.fd(), &about) == 0 && S_ISREG(about.st_mode) &&
               find_header(from, h);
  });
  int everywhere = by_bytes ? 1 : 0; // a rank that does not see the file tells so by reading it
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, comm);
  by_bytes = everywhere == 1;
  if (by_bytes)
    result = read_shares(comm, name, from, about.st_size, h, options);
  else
    together(comm, [&] { result = keep_rows(comm, whole_matrix(name, options)); });
  result.entries = result.matrix.size();
  MPI_Allreduce(MPI_IN_PLACE, &result.entries, 1, MPI_INT64_T, MPI_SUM, comm);
  return result;
}

} // namespace lacuna::petsc

// A dynamic matrix with a journal: a folder with a checkpoint of the matrix and a log of the
// batches since. After a kill at any byte it opens as the matrix after the last complete batch, bit
// by bit.
//
//   auto m = io::create_journal(ctx, "graph.journal", to_dynamic_csr(ctx, a));
//   insert(ctx, m, batch);                  written to the log, then applied; also erase, ...
//   multiply(ctx, m.matrix(), x, y);
//   checkpoint(ctx, m);                     the matrix is written as a whole, the log begins anew
//
//   auto m = io::open_journal<dynamic_csr<double>>(ctx, "graph.journal");
//
// A batch is written first. One that cannot be written (a full disk) throws `failed`, and matrix
// and log are as they were. One that the matrix refuses, or has no memory for, is taken out of the
// log again. docs/journal.md has the bytes of the files, the guarantees and what they cost.
//
// The log is written by the host: batches on a device are copied to it, and the call waits for
// that. Matrices of either space have the same files, and open in either.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <lacuna/op/check.hpp>
#include <lacuna/op/update.hpp>

namespace lacuna::io {

/// When a batch is on the disk itself. never: when the system writes it. That is enough for the
/// death of the process at any time, not for that of the machine.
enum class journal_sync { every_batch, never };

struct journal_options {
  journal_sync sync = journal_sync::every_batch;
  dynamic_csr_options layout = {}; ///< of the matrix when it is opened; files do not keep it
  /// Cut the log at a damaged record even if good ones follow, which are lost.
  bool salvage = false;
};

/// What open_journal found.
struct journal_recovery {
  std::int64_t checkpoint_batches = 0; ///< that the checkpoint holds
  std::int64_t replayed = 0;           ///< batches of the log since
  std::int64_t cut_bytes = 0;          ///< of an incomplete batch at the log's end, taken off
};

/// What a journal is of: bytes of its types, and the matrix at the last checkpoint.
struct journal_facts {
  int value_bytes = 0, index_bytes = 0, offset_bytes = 0;
  std::int64_t rows = 0, cols = 0, entries = 0, batches = 0;
};
/// Reads the header of the checkpoint, without a lock. Throws bad_input.
LACUNA_EXPORT journal_facts read_journal_facts(const std::string& folder);
/// Whether there is a journal, complete or damaged: create_journal would refuse.
LACUNA_EXPORT bool has_journal(const std::string& folder);

} // namespace lacuna::io

namespace lacuna::detail {

enum class journal_kind : std::uint8_t {
  insert = 1,
  erase,
  erase_rows,
  erase_columns,
  scale_rows,
  merge,
  replace_rows,
  erase_vertices
};
struct journal_record {
  journal_kind kind = journal_kind::insert;
  lacuna::existing existing = lacuna::existing::add;
  lacuna::outside outside = lacuna::outside::error;
  /// The batch's shape and size; rows: of replace_rows, how many it names.
  std::int64_t rows = 0, cols = 0, count = 0;
  std::span<const char> payload; ///< its arrays one behind the other
};
/// A csr matrix as a checkpoint has it.
struct journal_matrix {
  io::journal_facts facts; ///< `batches` does not matter where it is written
  bool unique = false;
  std::span<const char> rowptr, colind, values;
};

/// The folder's files, whatever the types: who may write, what is in them, what is appended.
class LACUNA_EXPORT journal_files {
public:
  /// A new journal. Throws failed if it cannot be written, bad_input if there is one.
  journal_files(const std::string& folder, const journal_matrix& first,
                const io::journal_options& options);
  /// One that is there: then read matrix() and call next() until it returns false. Throws bad_input
  /// with file and byte for what is damaged or of other types, failed if it is in use.
  journal_files(const std::string& folder, const io::journal_facts& types,
                const io::journal_options& options);
  journal_files(journal_files&&) noexcept;
  journal_files& operator=(journal_files&&) noexcept;
  ~journal_files();

  /// The checkpoint; its bytes are there until next() has returned false.
  [[nodiscard]] const journal_matrix& matrix() const;
  /// The next batch of the log; its bytes are there until the next call.
  bool next(journal_record& record);
  /// The batch that next() gave was refused. It is taken off if it is the last one: the process
  /// died before it could do so. Else throws bad_input.
  void refuse(const char* reason);

  void append(const journal_record& record, std::initializer_list<std::span<const char>> arrays);
  /// The record that was appended last is taken off.
  void take_back() noexcept;
  void checkpoint(const journal_matrix& now);

  [[nodiscard]] const io::journal_recovery& recovery() const;
  [[nodiscard]] std::int64_t batches() const;
  [[nodiscard]] std::int64_t log_bytes() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Elements where the host can write them to a file from.
template <class E, space S> struct host_elements {
  array<E> copy;
  std::span<const char> bytes;
  explicit host_elements(vector_view<const E, S> v) {
    const E* from = v.data();
    if constexpr (S == space::device) {
      copy = copy_to(default_context<space::host>(), v);
      from = copy.data();
    }
    bytes = {reinterpret_cast<const char*>(from), static_cast<std::size_t>(v.size()) * sizeof(E)};
  }
};

/// Places of a list that others follow, which begin at a multiple of 8 bytes.
template <class I> constexpr std::int64_t journal_list_places(std::int64_t count) {
  return sizeof(I) == 4 ? (count + 1) / 2 * 2 : count;
}

template <class T, class I, class O>
inline constexpr io::journal_facts journal_types{sizeof(T), sizeof(I), sizeof(O)};

} // namespace lacuna::detail

namespace lacuna::io {

template <class M> class journaled;
/// A matrix whose changes go through its journal. Closes it at its end; moves, does not copy.
template <class T, class I, class O, space S> class journaled<dynamic_csr<T, I, O, S>> {
public:
  using matrix_type = dynamic_csr<T, I, O, S>;

  const matrix_type& matrix() const { return m_; }
  /// O(1); see dynamic_csr.
  dynamic_csr_snapshot<T, I, O, S> snapshot() { return m_.snapshot(); }
  [[nodiscard]] const journal_recovery& recovery() const { return files_.recovery(); }
  /// All that went in since the journal was created.
  [[nodiscard]] std::int64_t batches() const { return files_.batches(); }
  /// What a checkpoint would save reading.
  [[nodiscard]] std::int64_t log_bytes() const { return files_.log_bytes(); }

  /// For the functions below: writes a record, then calls change(matrix).
  template <class F>
  auto change(const detail::journal_record& record,
              std::initializer_list<std::span<const char>> arrays, F&& change) {
    files_.append(record, arrays);
    try {
      return change(m_);
    } catch (...) {
      files_.take_back();
      throw;
    }
  }
  void write_checkpoint(const context<S>& ctx) {
    with_rows(ctx, m_, [&](const detail::journal_matrix& now) { files_.checkpoint(now); });
  }
  /// Nothing that the log would have to say.
  void compact_only(const context<S>& ctx) { compact(ctx, m_); }

private:
  template <class N, space To>
  friend journaled<N> open_journal(const context<To>&, const std::string&, const journal_options&);
  template <class U, class J, class Q, space To>
  friend journaled<dynamic_csr<U, J, Q, To>> create_journal(const context<To>&, const std::string&,
                                                            dynamic_csr<U, J, Q, To>&&,
                                                            const journal_options&);
  journaled(matrix_type&& m, detail::journal_files&& files)
      : m_(std::move(m)), files_(std::move(files)) {}

  /// Calls f with the matrix as a checkpoint has it, on the host.
  template <class F> static auto with_rows(const context<S>& ctx, const matrix_type& m, F f) {
    const auto rows = to_csr(ctx, m);
    const detail::host_elements<O, S> rowptr(rows.rowptr());
    const detail::host_elements<I, S> colind(rows.colind());
    const detail::host_elements<T, S> values(rows.values());
    detail::journal_matrix now{detail::journal_types<T, I, O>, rows.order().unique, rowptr.bytes,
                               colind.bytes, values.bytes};
    now.facts.rows = rows.shape().row;
    now.facts.cols = rows.shape().col;
    now.facts.entries = rows.size();
    return f(now);
  }
  static matrix_type make(const context<S>& ctx, const detail::journal_matrix& from,
                          const dynamic_csr_options& layout) {
    const csr_view<const T, I, O> rows(
        reinterpret_cast<const T*>(from.values.data()),
        reinterpret_cast<const O*>(from.rowptr.data()),
        reinterpret_cast<const I*>(from.colind.data()),
        {checked_cast<I>(from.facts.rows, "rows"), checked_cast<I>(from.facts.cols, "columns")},
        from.facts.entries, facts{true, from.unique});
    if constexpr (S == space::host) {
      check(ctx, rows);
      return to_dynamic_csr(ctx, rows, layout);
    } else {
      const auto there = copy_to(ctx, rows);
      check(ctx, there);
      return to_dynamic_csr(ctx, there, layout);
    }
  }
  static void replay(const context<S>& ctx, matrix_type& m, const detail::journal_record& r) {
    using detail::journal_kind;
    const auto brought_some = [&](auto* data, std::int64_t count) {
      using E = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
      const vector_view<const E> there(data, count);
      if constexpr (S == space::host)
        return there;
      else
        return copy_to(ctx, there);
    };
    const auto brought = [&](auto* data) { return brought_some(data, r.count); };
    const auto* const first = reinterpret_cast<const I*>(r.payload.data());
    const lacuna::index<I> shape(checked_cast<I>(r.rows, "rows"),
                                 checked_cast<I>(r.cols, "columns"));
    const auto insert_from = [&](const I* from, lacuna::index<I> of, const insert_options& how) {
      const auto row = brought(from), col = brought(from + r.count);
      const auto value = brought(reinterpret_cast<const T*>(from + 2 * r.count));
      insert(ctx, m, {value.data(), row.data(), col.data(), of, r.count}, how);
    };
    switch (r.kind) {
    case journal_kind::insert: return insert_from(first, shape, {r.existing, r.outside});
    case journal_kind::replace_rows: {
      const auto rows = brought_some(first, r.rows);
      erase_rows(ctx, m, rows);
      return insert_from(first + detail::journal_list_places<I>(r.rows), m.shape(), {});
    }
    case journal_kind::erase_vertices: {
      const auto vertices = brought(first);
      erase_vertices(ctx, m, vertices);
      return;
    }
    case journal_kind::erase: {
      const auto row = brought(first), col = brought(first + r.count);
      erase(ctx, m, {static_cast<const T*>(nullptr), row.data(), col.data(), shape, r.count});
      return;
    }
    case journal_kind::erase_rows: {
      const auto rows = brought(first);
      erase_rows(ctx, m, rows);
      return;
    }
    case journal_kind::erase_columns: {
      const auto columns = brought(first);
      erase_columns(ctx, m, columns);
      return;
    }
    case journal_kind::scale_rows: {
      const auto factors = brought(reinterpret_cast<const T*>(r.payload.data()));
      scale_rows(ctx, m, factors);
      return;
    }
    case journal_kind::merge: compact(ctx, m, {.merge = true}); return;
    }
  }

  matrix_type m_;
  detail::journal_files files_;
};

/// Of a folder that create_journal made: `open_journal<dynamic_csr<double>>(ctx, folder)`. Costs
/// what reading the checkpoint and applying the log's batches again does; an incomplete batch at
/// the log's end is cut off. Throws bad_input, with file and byte, if there is no journal, its
/// types are others or it is damaged; failed if another process has it open, or it cannot be
/// written.
template <class M, space S>
journaled<M> open_journal(const context<S>& ctx, const std::string& folder,
                          const journal_options& options = {}) {
  using T = typename M::scalar_type;
  using I = typename M::index_type;
  using O = typename M::offset_type;
  static_assert(std::is_same_v<M, dynamic_csr<T, I, O, S>>,
                "lacuna: a journal is of a dynamic_csr in the context's space");
  detail::journal_files files(folder, detail::journal_types<T, I, O>, options);
  M m = journaled<M>::make(ctx, files.matrix(), options.layout);
  for (detail::journal_record record; files.next(record);) {
    try {
      journaled<M>::replay(ctx, m, record);
    } catch (const out_of_memory&) {
      throw;
    } catch (const device_error&) {
      throw;
    } catch (const error& e) {
      files.refuse(e.what());
    }
  }
  return {std::move(m), std::move(files)};
}
/// A new journal with this matrix as its first checkpoint, in a folder that need not exist. Throws
/// bad_input if it has a journal, failed if it cannot be written.
template <class T, class I, class O, space S>
journaled<dynamic_csr<T, I, O, S>> create_journal(const context<S>& ctx, const std::string& folder,
                                                  dynamic_csr<T, I, O, S>&& first,
                                                  const journal_options& options = {}) {
  using owner = journaled<dynamic_csr<T, I, O, S>>;
  auto files = owner::with_rows(ctx, first, [&](const detail::journal_matrix& rows) {
    return detail::journal_files(folder, rows, options);
  });
  return {std::move(first), std::move(files)};
}

// The calls of op/update.hpp. They throw what those throw, and failed if the log cannot be written;
// then the matrix is as it was, and so is the log. An empty batch is not logged.

template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                     std::type_identity_t<coo_view<const T, I, O, S>> batch,
                     const insert_options& options = {}) {
  if (batch.size() == 0) return {};
  const detail::host_elements<I, S> row(batch.rowind()), col(batch.colind());
  const detail::host_elements<T, S> value(batch.values());
  return m.change({detail::journal_kind::insert,
                   options.existing,
                   options.outside,
                   batch.shape().row,
                   batch.shape().col,
                   batch.size(),
                   {}},
                  {row.bytes, col.bytes, value.bytes},
                  [&](auto& matrix) { return insert(ctx, matrix, batch, options); });
}
template <class T, class I, class O, space S>
update_counts insert(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                     const csr<T, I, O, S>& b, const insert_options& options = {}) {
  const auto entries = to_coo(ctx, b);
  return insert(ctx, m, entries.view(), options);
}
template <class T, class I, class O, space S>
update_counts erase(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                    std::type_identity_t<coo_view<const T, I, O, S>> batch) {
  if (batch.size() == 0) return {};
  const detail::host_elements<I, S> row(batch.rowind()), col(batch.colind());
  return m.change(
      {detail::journal_kind::erase, {}, {}, batch.shape().row, batch.shape().col, batch.size(), {}},
      {row.bytes, col.bytes}, [&](auto& matrix) { return erase(ctx, matrix, batch); });
}
template <class T, class I, class O, space S>
update_counts erase_rows(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                         std::type_identity_t<vector_view<const I, S>> rows) {
  if (rows.size() == 0) return {};
  const detail::host_elements<I, S> list(rows);
  return m.change({detail::journal_kind::erase_rows, {}, {}, 0, 0, rows.size(), {}}, {list.bytes},
                  [&](auto& matrix) { return erase_rows(ctx, matrix, rows); });
}
template <class T, class I, class O, space S>
update_counts replace_rows(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                           std::type_identity_t<vector_view<const I, S>> rows,
                           const csr<T, I, O, S>& b) {
  if (b.shape().row != rows.size())
    throw size_mismatch("replace_rows: " + std::to_string(rows.size()) + " rows for " +
                        std::to_string(b.shape().row) + " of the matrix that replaces them");
  const auto& host = default_context<space::host>();
  const std::int64_t places = detail::journal_list_places<I>(rows.size());
  array<I> list(host, places); // and one more, perhaps
  std::fill(list.begin(), list.end(), I{0});
  const auto names = copy_to(host, rows);
  std::copy(names.begin(), names.end(), list.begin());
  const auto entries = to_coo(ctx, b);
  auto row = copy_to(host, entries.rowind());
  for (I& i : row) i = names[i]; // that they are inside is found out below
  const detail::host_elements<I, S> col(entries.colind());
  const detail::host_elements<T, S> value(entries.values());
  const auto bytes = [](const array<I>& a) {
    return std::span<const char>(reinterpret_cast<const char*>(a.data()), a.bytes());
  };
  return m.change(
      {detail::journal_kind::replace_rows, {}, {}, rows.size(), b.shape().col, b.size(), {}},
      {bytes(list), bytes(row), col.bytes, value.bytes},
      [&](auto& matrix) { return replace_rows(ctx, matrix, rows, b); });
}
template <class T, class I, class O, space S>
update_counts erase_vertices(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                             std::type_identity_t<vector_view<const I, S>> vertices) {
  if (vertices.size() == 0) return {};
  const detail::host_elements<I, S> list(vertices);
  return m.change({detail::journal_kind::erase_vertices, {}, {}, 0, 0, vertices.size(), {}},
                  {list.bytes},
                  [&](auto& matrix) { return erase_vertices(ctx, matrix, vertices); });
}
template <class T, class I, class O, space S>
update_counts erase_columns(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                            std::type_identity_t<vector_view<const I, S>> columns) {
  if (columns.size() == 0) return {};
  const detail::host_elements<I, S> list(columns);
  return m.change({detail::journal_kind::erase_columns, {}, {}, 0, 0, columns.size(), {}},
                  {list.bytes}, [&](auto& matrix) { return erase_columns(ctx, matrix, columns); });
}
template <class T, class I, class O, space S>
void scale_rows(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
                std::type_identity_t<vector_view<const T, S>> factors) {
  const detail::host_elements<T, S> list(factors);
  m.change({detail::journal_kind::scale_rows, {}, {}, 0, 0, factors.size(), {}}, {list.bytes},
           [&](auto& matrix) { scale_rows(ctx, matrix, factors); });
}
/// Logged only where duplicates are added up: else no entry changes.
template <class T, class I, class O, space S>
void compact(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m,
             const compact_options& options = {}) {
  if (!options.merge) return m.compact_only(ctx);
  m.change({detail::journal_kind::merge, {}, {}, 0, 0, 0, {}}, {},
           [&](auto& matrix) { compact(ctx, matrix, options); });
}
/// Writes the matrix, on the disk itself when it returns, and begins a new log. A kill at any time
/// leaves the old pair of files or the new one. Costs a copy of the matrix on the host and the time
/// to write it. Throws failed if it cannot be written: the journal goes on as it was.
template <class T, class I, class O, space S>
void checkpoint(const context<S>& ctx, journaled<dynamic_csr<T, I, O, S>>& m) {
  m.write_checkpoint(ctx);
}

} // namespace lacuna::io

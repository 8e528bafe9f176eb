// Y = alpha A X + beta Z on the host, A a block tree or its transpose: each task owns the lines of
// Y that its leaves touch, and adds up in a buffer that stays in a cache. Memory-bound: the leaves'
// bytes once, 24 per leaf of lists, x and y about once. Stripes that several tasks share are added
// up in the order of the tasks, so that bits are the same for any number of threads.
#include <algorithm>
#include <atomic>

#include "cpu/block_tree_kernels.hpp"
#include "cpu/parallel.hpp"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::cpu {
namespace {

/// Vectors of X that pass while a leaf is in a cache.
constexpr std::int64_t vectors_at_once = 4;
/// Leaves that go to the kernel together.
constexpr int batch = 32;
/// Entries for which another thread pays; tasks that a thread takes at once.
constexpr std::int64_t thread_entries = std::int64_t{1} << 14;
constexpr int shares_per_thread = 16;

/// Columns of X without gaps: X's own, or copies.
template <class T> struct gapless_columns {
  array<T> own;
  const T* data;
  std::int64_t stride;
  gapless_columns(const host_context& ctx, dense_view<const T> x)
      : data(x.data()), stride(x.col_stride()) {
    const std::int64_t rows = x.shape().row, cols = x.shape().col;
    if (x.row_stride() == 1 || rows <= 1) return;
    own = array<T>(ctx, checked_mul(rows, cols));
    for_each_range(ctx, rows, thread_entries, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < cols; ++j) own[j * rows + i] = x(i, j);
    });
    data = own.data();
    stride = rows;
  }
};

/// The second product of multiply_both: z = A^T w, for the tasks of one share.
template <class T> struct other_product {
  const T* w = nullptr;
  T* sums = nullptr; ///< where column 0 would be
};

template <class T, class I> class tree_product {
public:
  tree_product(const host_context& ctx, const tree_arrays<const T, I, space::host>& a,
               bool transposed, T alpha, T beta, dense_view<const T> z, dense_view<T> y)
      : ctx_(ctx), a_(a), transposed_(transposed), alpha_(alpha), beta_(beta), z_(z), y_(y),
        tasks_(transposed ? a.column_tasks : a.row_tasks), count_(tasks_.size() - 1),
        widest_((transposed ? a.column_sums : a.row_sums).widest),
        kernel_(transposed ? best_leaf_kernels<T>().transposed : best_leaf_kernels<T>().plain) {
    threads_ = static_cast<int>(std::clamp<std::int64_t>(
        a.nnz / thread_entries, 1,
        std::min<std::int64_t>(ctx.threads(), std::max<std::int64_t>(count_, 1))));
    vectors_ = std::min(vectors_at_once, y.shape().col);
    shares_ = static_cast<int>(
        std::min<std::int64_t>(std::max<std::int64_t>(count_, 1),
                               threads_ == 1 ? 1 : std::int64_t{threads_} * shares_per_thread));
    sums_ = array<T>(ctx, checked_mul(widest_ * vectors_, threads_));
    waiting_ = array<T>(ctx, checked_mul(tasks_[count_].slot, vectors_));
  }

  /// Y's columns [column, column + vectors).
  void multiply(const T* x, std::int64_t x_stride, std::int64_t column, std::int64_t vectors) {
    if (count_ == 0) return finish_lines(0, y_.shape().row, nullptr, 0, 0, 0, column, vectors);
    std::atomic<int> next{0};
    for_each_part(ctx_, threads_, 1, [&](int worker, int) {
      T* const sums = sums_.data() + worker * widest_ * vectors_;
      for (int share = next++; share < shares_; share = next++)
        for (std::int64_t t = part_begin(count_, share, shares_);
             t < part_begin(count_, share + 1, shares_); ++t)
          run_task(t, x, x_stride, column, vectors, sums, {});
    });
    join_shared(column, vectors);
  }
  /// y = A x, and z = A^T w into windows, one for each share of the tasks: shares, and so the order
  /// of all sums, follow from the tree alone.
  void multiply_both(const T* x, const T* w, vector_view<T> z);

private:
  void join_shared(std::int64_t column, std::int64_t vectors) {
    if (tasks_[count_].slot == 0) return;
    // Stripes of several tasks, all from the slot of the first on.
    for_each_dynamic(threads_, shares_, [&](int share) {
      for (std::int64_t t = part_begin(count_, share, shares_);
           t < part_begin(count_, share + 1, shares_); ++t)
        if (tasks_[t].parts > 1 && tasks_[t].part == 0) join_tasks(t, column, vectors);
    });
  }
  std::int64_t first_line(std::int64_t t) const {
    return t == 0 ? 0 : std::int64_t{tasks_[t].begin};
  }
  /// Lines up to the next stripe's, which the last of them may have no entries.
  std::int64_t last_line(std::int64_t t) const {
    return t == count_ ? y_.shape().row : std::int64_t{tasks_[t].begin};
  }

  /// Columns that a leaf may reach.
  std::int64_t reach_of(std::uint64_t node) const {
    const int bytes = coordinate_bytes(type_of(node));
    return bytes == 1 ? 256 : bytes == 2 ? 65536 : std::int64_t{1} << 32;
  }
  void run_task(std::int64_t t, const T* x, std::int64_t x_stride, std::int64_t column,
                std::int64_t vectors, T* own, const other_product<T>& other) {
    const tree_task<I>& task = tasks_[t];
    const std::int64_t lines = task.end - task.begin;
    const bool shared = task.parts > 1;
    T* const sums = shared ? waiting_.data() + task.slot * vectors : own;
    std::fill_n(sums, lines * vectors, T{0});
    leaf_work<T> work[batch];
    const std::int64_t end = tasks_[t + 1].first;
    for (std::int64_t k = task.first; k < end; k += batch) {
      const int count = static_cast<int>(std::min<std::int64_t>(batch, end - k));
      for (int i = 0; i < count; ++i) {
        const tree_item<I>& item = a_.items[transposed_ ? a_.by_column[k + i] : k + i];
        work[i] = {item.node, x + (transposed_ ? item.row : item.col),
                   sums + ((transposed_ ? item.col : item.row) - task.begin),
                   a_.rows_from(item.row), a_.cols_from(item.col)};
      }
      if (other.w != nullptr) {
        leaf_work<T> across[batch];
        for (int i = 0; i < count; ++i) {
          const tree_item<I>& item = a_.items[k + i];
          across[i] = work[i];
          across[i].x = other.w + item.row;
          across[i].sums = other.sums + item.col;
        }
        for (int i = 0; i < count; ++i) {
          kernel_(a_.bytes(), work + i, 1);
          best_leaf_kernels<T>().transposed(a_.bytes(), across + i, 1);
        }
        continue;
      }
      for (std::int64_t j = 0; j < vectors; ++j) {
        kernel_(a_.bytes(), work, count);
        for (int i = 0; i < count && j + 1 < vectors; ++i) {
          work[i].x += x_stride;
          work[i].sums += lines;
        }
      }
    }
    if (!shared)
      finish_lines(first_line(t), last_line(t + 1), sums, task.begin, lines, 1, column, vectors);
  }
  void join_tasks(std::int64_t t, std::int64_t column, std::int64_t vectors) const {
    const tree_task<I>& task = tasks_[t];
    finish_lines(first_line(t), last_line(t + task.parts), waiting_.data() + task.slot * vectors,
                 task.begin, task.end - task.begin, task.parts, column, vectors);
  }
  /// y = alpha (sums of all parts) + beta z for lines [first, last); those from `begin` on, `lines`
  /// of them, have sums.
  void finish_lines(std::int64_t first, std::int64_t last, const T* sums, std::int64_t begin,
                    std::int64_t lines, std::int64_t parts, std::int64_t column,
                    std::int64_t vectors) const {
    const bool reads = beta_ != T{0};
    for (std::int64_t j = 0; j < vectors; ++j) {
      T* const y = &y_(0, column + j);
      const T* const z = reads ? &z_(0, column + j) : nullptr;
      const std::int64_t y_row = y_.row_stride(), z_row = reads ? z_.row_stride() : 0;
      const auto write = [&](std::int64_t from, std::int64_t to, auto sum) {
        if (!reads && y_row == 1)
          for (std::int64_t i = from; i < to; ++i) y[i] = alpha_ * sum(i);
        else if (!reads)
          for (std::int64_t i = from; i < to; ++i) y[i * y_row] = alpha_ * sum(i);
        else
          for (std::int64_t i = from; i < to; ++i)
            y[i * y_row] = alpha_ * sum(i) + beta_ * z[i * z_row];
      };
      const auto none = [](std::int64_t) { return T{0}; };
      const T* const mine = sums + j * lines - begin;
      write(first, std::min(begin, last), none);
      if (parts == 1)
        write(begin, begin + lines, [=](std::int64_t i) { return mine[i]; });
      else
        write(begin, begin + lines, [=](std::int64_t i) {
          T sum{0};
          for (std::int64_t part = 0; part < parts; ++part) sum += mine[part * lines * vectors + i];
          return sum;
        });
      write(begin + lines, last, none);
    }
  }

  const host_context& ctx_;
  tree_arrays<const T, I, space::host> a_;
  bool transposed_;
  T alpha_, beta_;
  dense_view<const T> z_;
  dense_view<T> y_;
  vector_view<const tree_task<I>> tasks_;
  std::int64_t count_, widest_, vectors_;
  int threads_, shares_;
  array<T> sums_;    // of each thread's task
  array<T> waiting_; // of tasks that share their lines
  void (*kernel_)(const unsigned char*, const leaf_work<T>*, int);
};

/// Shares of a product in both directions: no more than this many can run at once.
constexpr int most_windows = 16;

template <class T, class I>
void tree_product<T, I>::multiply_both(const T* x, const T* w, vector_view<T> z) {
  struct window {
    std::int64_t first = 0, last = 0; // tasks
    std::int64_t low = 0, high = 0;   // columns
    std::int64_t place = 0;
  };
  window windows[most_windows];
  // As many as windows cost less than half of the products.
  int count = static_cast<int>(std::clamp<std::int64_t>(count_, 1, most_windows));
  std::int64_t total = 0;
  for (;; count = (count + 1) / 2) {
    total = 0;
    for (int i = 0; i < count; ++i) {
      window& s = windows[i];
      s = {part_begin(count_, i, count), part_begin(count_, i + 1, count), z.size(), 0, total};
      for (std::int64_t k = tasks_[s.first].first; k < tasks_[s.last].first; ++k) {
        s.low = std::min<std::int64_t>(s.low, a_.items[k].col);
        // A leaf of another level may reach further than d.
        s.high = std::max<std::int64_t>(s.high, a_.items[k].col + reach_of(a_.items[k].node));
      }
      s.high = std::min(s.high, z.size());
      s.low = std::min(s.low, s.high);
      total += s.high - s.low;
    }
    if (count == 1 || total <= z.size() + a_.nnz / 4) break;
  }
  array<T> sums(ctx_, total);
  std::atomic<int> next{0};
  for_each_part(ctx_, std::min(threads_, count), 1, [&](int worker, int) {
    for (int i = next++; i < count; i = next++) {
      const window& s = windows[i];
      std::fill_n(sums.data() + s.place, s.high - s.low, T{0});
      for (std::int64_t t = s.first; t < s.last; ++t)
        run_task(t, x, 0, 0, 1, sums_.data() + worker * widest_,
                 {w, sums.data() + s.place - s.low});
    }
  });
  if (count_ == 0) finish_lines(0, y_.shape().row, nullptr, 0, 0, 1, 0, 1);
  join_shared(0, 1);
  for_each_range(ctx_, z.size(), thread_entries, [&](std::int64_t begin, std::int64_t end) {
    std::fill(z.begin() + begin, z.begin() + end, T{0});
    for (int i = 0; i < count; ++i) {
      const window& s = windows[i];
      const T* const from = sums.data() + s.place - s.low;
      for (std::int64_t c = std::max(begin, s.low); c < std::min(end, s.high); ++c) z[c] += from[c];
    }
    for (std::int64_t c = begin; c < end; ++c) z[c] *= alpha_;
  });
}

} // namespace

template <class T, class I>
void multiply_tree_both(const host_context& ctx, T alpha,
                        const tree_arrays<const T, I, space::host>& a, vector_view<const T> x,
                        vector_view<T> y, vector_view<const T> w, vector_view<T> z) {
  if (a.row_tasks.empty() || y.empty() || z.empty()) {
    std::fill(y.begin(), y.end(), T{0});
    std::fill(z.begin(), z.end(), T{0});
    return;
  }
  const dense_view<T> column(y.data(), {y.size(), 1}, layout::column_major);
  tree_product<T, I> product(ctx, a, false, alpha, T{0}, column, column);
  product.multiply_both(x.data(), w.data(), z);
}

template <class T, class I>
void multiply_tree(const host_context& ctx, T alpha, const tree_arrays<const T, I, space::host>& a,
                   bool transposed, dense_view<const T> x, T beta, dense_view<const T> z,
                   dense_view<T> y) {
  const std::int64_t columns = y.shape().col;
  if (y.shape().row == 0 || columns == 0) return;
  const gapless_columns<T> from(ctx, x);
  tree_product<T, I> product(ctx, a, transposed, alpha, beta, z, y);
  for (std::int64_t j = 0; j < columns; j += vectors_at_once)
    product.multiply(from.data + j * from.stride, from.stride, j,
                     std::min(vectors_at_once, columns - j));
}

void call_shared(const host_context& ctx, std::int64_t count,
                 void (*f)(const void* with, std::int64_t i), const void* with) {
  const int shares =
      static_cast<int>(std::min<std::int64_t>(count, 32 * std::int64_t{ctx.threads()}));
  for_each_dynamic(ctx.threads(), shares, [&](int share) {
    for (std::int64_t i = part_begin(count, share, shares);
         i < part_begin(count, share + 1, shares); ++i)
      f(with, i);
  });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void multiply_tree<T, I>(const host_context&, T,                                        \
                                    const tree_arrays<const T, I, space::host>&, bool,             \
                                    dense_view<const T>, T, dense_view<const T>, dense_view<T>);   \
  template void multiply_tree_both<T, I>(                                                          \
      const host_context&, T, const tree_arrays<const T, I, space::host>&, vector_view<const T>,   \
      vector_view<T>, vector_view<const T>, vector_view<T>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu

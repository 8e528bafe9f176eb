#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>

#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>

#include "io/matrix_market_entries.hpp"
#include "io/raw_array.hpp"

namespace lacuna::io {
namespace {

/// Threads take blocks in turn, parse them side by side, and append their entries in the order of
/// the file. The first fault in the file's order is the one that is reported.
template <class T, class I> class entry_reader {
public:
  entry_reader(const host_context& ctx, text_source& source, const std::string& name,
               const read_options& options, const matrix_market_header& h)
      : ctx_(ctx), source_(source), name_(name), options_(options), h_(h) {}

  /// `rest` is what the header left of its block, `line` the line of the sizes.
  triplets<T, I> read(text_block rest, std::int64_t line) {
    first_ = std::move(rest);
    lines_ = size_line_ = line;
    if (h_.structure == symmetry::skew_symmetric) row_ = 1;
    grow(0, first_room());
#pragma omp parallel num_threads(threads())
    work();
    if (failure_) std::rethrow_exception(failure_);
    if (position_ < h_.entries)
      throw bad_input(fmt::format("the file ends after {} of the {} {} that line {} promises",
                                  position_, h_.entries, h_.coordinate ? "entries" : "values",
                                  size_line_),
                      name_, lines_);
    if (result_.rowind.size() > count_) grow(count_, count_); // an array's zeros are not kept
    return std::move(result_);
  }

private:
  struct turn {
    text_block block;
    std::int64_t number = 0;
  };

  [[nodiscard]] bool keeps_imaginary() const {
    return h_.values == field::complex && options_.complex == complex_rule::keep;
  }
  [[nodiscard]] int threads() const {
    constexpr std::int64_t worth = std::int64_t{1} << 20; // bytes of text for one more thread
    const std::int64_t total = source_.total_bytes();
    return total == 0
               ? ctx_.threads()
               : static_cast<int>(std::clamp<std::int64_t>(total / worth, 1, ctx_.threads()));
  }

  void work() {
    parsed_block<T, I> parsed;
    turn mine;
    try {
      while (take(mine)) {
        parsed.reserve(ctx_, h_, options_.complex, mine.block.text.size());
        parse_block(mine.block.text, h_, options_.complex, INT64_MAX, parsed);
        append(mine, parsed);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      turned_.notify_all();
    }
  }

  bool take(turn& mine) {
    const std::lock_guard lock(mutex_);
    if (failure_) return false;
    mine.number = taken_++;
    if (mine.number == 0 && !first_.text.empty()) {
      mine.block = std::move(first_);
      return true;
    }
    return source_.next(mine.block);
  }

  void append(const turn& mine, parsed_block<T, I>& parsed) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return appended_ == mine.number || failure_; });
    if (failure_) return;
    judge(mine, parsed);
    lines_ += parsed.lines;
    position_ += parsed.count;
    if (!h_.coordinate) append_values(parsed);
    const std::int64_t at = count_;
    if (h_.coordinate) count_ += parsed.count;
    const bool fixed_room = source_.text_bound() > 0; // nothing moves: copy side by side
    if (h_.coordinate && !fixed_room) copy(parsed, at);
    ++appended_;
    source_.done_with(mine.block.consumed);
    if (options_.progress) options_.progress(mine.block.consumed, source_.total_bytes());
    turned_.notify_all();
    lock.unlock();
    if (h_.coordinate && fixed_room) copy(parsed, at);
  }

  /// Throws what is wrong with the block, given all that came before it.
  void judge(const turn& mine, parsed_block<T, I>& parsed) {
    if (position_ + parsed.count > h_.entries) { // find the line of the first one too many
      parse_block(mine.block.text, h_, options_.complex, h_.entries - position_ + 1, parsed);
      throw bad_input(fmt::format("more than the {} {} that line {} promises", h_.entries,
                                  h_.coordinate ? "entries" : "values", size_line_),
                      name_, lines_ + parsed.lines);
    }
    const auto note = [&](std::int64_t& line, std::int64_t first) {
      if (line == 0 && first != 0) line = lines_ + first;
    };
    note(below_, parsed.first_below);
    note(above_, parsed.first_above);
    if (below_ != 0 && above_ != 0)
      throw bad_input(fmt::format("an entry {} the diagonal, but line {} has one {} it: a {} file "
                                  "holds one triangle",
                                  below_ > above_ ? "below" : "above", std::min(below_, above_),
                                  below_ > above_ ? "above" : "below", name_of(h_.structure)),
                      name_, std::max(below_, above_));
    if (!parsed.fault.empty()) throw bad_input(parsed.fault, name_, lines_ + parsed.lines + 1);
  }

  void copy(const parsed_block<T, I>& parsed, std::int64_t at) {
    if (parsed.count == 0) return;
    if (at + parsed.count > result_.rowind.size())
      grow(at, std::min(h_.entries, std::max(2 * result_.rowind.size(), at + parsed.count)));
    const auto put = [&](auto& to, const auto& from) {
      std::memcpy(to.data() + at, from.data(),
                  static_cast<std::size_t>(parsed.count) * sizeof from[0]);
    };
    put(result_.rowind, parsed.rowind);
    put(result_.colind, parsed.colind);
    if (h_.values != field::pattern) put(result_.values, parsed.values);
    if (keeps_imaginary()) put(result_.imaginary, parsed.imaginary);
  }

  void append_values(const parsed_block<T, I>& parsed) {
    if (count_ + parsed.count > result_.rowind.size())
      grow(count_, std::max(2 * result_.rowind.size(), count_ + parsed.count));
    for (std::int64_t k = 0; k < parsed.count; ++k) {
      if (row_ == h_.rows) { // of a symmetric array the lower triangle is stored
        ++col_;
        row_ = h_.structure == symmetry::general          ? 0
               : h_.structure == symmetry::skew_symmetric ? col_ + 1
                                                          : col_;
      }
      const auto counts = [](T v) { return v != 0 || std::signbit(v); }; // -0 keeps its sign
      if (counts(parsed.values[k]) || (keeps_imaginary() && counts(parsed.imaginary[k]))) {
        result_.rowind[count_] = static_cast<I>(row_);
        result_.colind[count_] = static_cast<I>(col_);
        if (keeps_imaginary()) result_.imaginary[count_] = parsed.imaginary[k];
        result_.values[count_++] = parsed.values[k];
      }
      ++row_;
    }
  }

  /// All that will come if the text's size bounds it, else a start that append() doubles: the
  /// header is not believed.
  [[nodiscard]] std::int64_t first_room() const {
    if (!h_.coordinate) return 0;
    const std::int64_t bound = source_.text_bound();
    const std::int64_t shortest = h_.values == field::pattern ? 4 : 6; // "1 1\n", "1 1 1\n"
    return std::min(h_.entries, bound > 0 ? bound / shortest + 1 : std::int64_t{1} << 16);
  }

  void grow(std::int64_t used, std::int64_t room) {
    const auto resized = [&](const auto& a) {
      std::remove_cvref_t<decltype(a)> larger(ctx_, room);
      if (used > 0)
        std::memcpy(larger.data(), a.data(), static_cast<std::size_t>(used) * sizeof a[0]);
      return larger;
    };
    result_.shape = {static_cast<I>(h_.rows), static_cast<I>(h_.cols)};
    result_.rowind = resized(result_.rowind);
    result_.colind = resized(result_.colind);
    if (h_.values != field::pattern) result_.values = resized(result_.values);
    if (keeps_imaginary()) result_.imaginary = resized(result_.imaginary);
  }

  const host_context& ctx_;
  text_source& source_;
  const std::string& name_;
  const read_options& options_;
  const matrix_market_header& h_;

  std::mutex mutex_; // for all that follows
  std::condition_variable turned_;
  text_block first_;
  std::int64_t taken_ = 0, appended_ = 0;  // blocks
  std::int64_t lines_ = 0, size_line_ = 0; // of the blocks appended; of the sizes
  std::int64_t position_ = 0, count_ = 0;  // entries seen; entries kept
  std::int64_t row_ = 0, col_ = 0;         // of an array's next value
  std::int64_t below_ = 0, above_ = 0;     // the diagonal: first lines
  triplets<T, I> result_;
  std::exception_ptr failure_;
};

} // namespace

template <class T>
file_triplets<T> read_matrix_market(const host_context& ctx, text_source& source,
                                    const std::string& name, const read_options& options) {
  text_block block;
  std::int64_t line = 0;
  const matrix_market_header h = read_matrix_market_header(source, name, block, line);
  if (h.values == field::complex && options.complex == complex_rule::refuse)
    throw unsupported("complex values: take their real part with --complex real, or their "
                      "absolute value with --complex abs",
                      name, 1);
  file_triplets<T> result;
  result.about = {name,
                  h.coordinate ? "Matrix Market coordinate" : "Matrix Market array",
                  h.rows,
                  h.cols,
                  h.entries,
                  h.values,
                  structure_of_real(h.structure, h.values == field::complex, options.complex),
                  h.comment};
  const auto read = [&]<class I>(I) {
    result.entries = entry_reader<T, I>(ctx, source, name, options, h).read(std::move(block), line);
  };
  if (fits<std::int32_t>(h.rows) && fits<std::int32_t>(h.cols))
    read(std::int32_t{});
  else
    read(std::int64_t{});
  return result;
}

std::pair<std::int64_t, std::int64_t> find_lines(text_source& source, const std::string& name,
                                                 std::int64_t row, std::int64_t col) {
  text_block block;
  std::int64_t line = 0, first = 0;
  const matrix_market_header h = read_matrix_market_header(source, name, block, line);
  do {
    const char *p = block.text.data(), *const end = p + block.text.size();
    for (; p != end; ++p) {
      ++line;
      std::int64_t i = 0, j = 0;
      const char* at = parse_index(skip_blanks(p), i);
      if (at != nullptr) at = parse_index(skip_blanks(at), j);
      const bool same = i == row + 1 && j == col + 1;
      const bool mirrored = h.structure != symmetry::general && j == row + 1 && i == col + 1;
      if (at != nullptr && (same || mirrored)) {
        if (first != 0) return {first, line};
        first = line;
      }
      while (*p != '\n') ++p;
    }
  } while (source.next(block));
  return {first, 0};
}

template file_triplets<float> read_matrix_market(const host_context&, text_source&,
                                                 const std::string&, const read_options&);
template file_triplets<double> read_matrix_market(const host_context&, text_source&,
                                                  const std::string&, const read_options&);

} // namespace lacuna::io

#include <algorithm>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "io/matrix_market.hpp"
#include "io/parse_number.hpp"
#include "io/text.hpp"

namespace lacuna::io {
namespace {

constexpr std::size_t comment_limit = 1 << 16; // bytes of comment that are kept

std::vector<std::string_view> tokens_of(std::string_view line) {
  std::vector<std::string_view> result;
  const char *p = line.data(), *const end = p + line.size();
  while (p != end) {
    while (p != end && is_blank(*p)) ++p;
    const char* const first = p;
    while (p != end && !is_blank(*p)) ++p;
    if (p != first) result.emplace_back(first, static_cast<std::size_t>(p - first));
  }
  return result;
}

class header_parser {
public:
  header_parser(text_source& source, const std::string& name, text_block& block, std::int64_t& line)
      : source_(source), name_(name), block_(block), line_(line) {}

  matrix_market_header parse() {
    banner();
    sizes();
    return std::move(h_);
  }

private:
  /// The next line without its end; fails at the end of the file.
  std::string_view next_line(const char* wanted) {
    if (block_.text.empty() && !source_.next(block_))
      fail(fmt::format("the file ends before {}", wanted));
    const auto end = block_.text.find('\n');
    const auto result = block_.text.substr(0, end);
    block_.text.remove_prefix(end + 1);
    ++line_;
    return result;
  }

  void banner() {
    std::string_view text = next_line("the line '%%MatrixMarket …'");
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3); // byte order mark
    auto words = tokens_of(text);
    while (words.empty()) words = tokens_of(next_line("the line '%%MatrixMarket …'"));
    const std::string first = lower_case(words[0]);
    if (first != "%%matrixmarket" && first != "%matrixmarket")
      fail(fmt::format("'{}' is not '%%MatrixMarket'", shown(words[0])));
    if (words.size() != 5)
      fail(fmt::format("the first line has {} words of the 5 in '%%MatrixMarket matrix "
                       "coordinate|array FIELD SYMMETRY'",
                       words.size()));
    const std::string object = lower_case(words[1]);
    if (object == "vector")
      vector_ = true;
    else if (object != "matrix")
      fail(fmt::format("object '{}' is not matrix", shown(words[1])));
    h_.coordinate = choose<bool>("format", words[2], {{"coordinate", true}, {"array", false}});
    h_.is_unsigned = lower_case(words[3]) == "unsigned-integer";
    h_.values = choose<field>("field", words[3],
                              {{"real", field::real},
                               {"double", field::real},
                               {"integer", field::integer},
                               {"unsigned-integer", field::integer},
                               {"pattern", field::pattern},
                               {"complex", field::complex}});
    h_.structure = choose<symmetry>("symmetry", words[4],
                                    {{"general", symmetry::general},
                                     {"symmetric", symmetry::symmetric},
                                     {"skew-symmetric", symmetry::skew_symmetric},
                                     {"hermitian", symmetry::hermitian}});
    if (h_.values == field::pattern && !h_.coordinate) fail("an array cannot be a pattern");
    if (h_.values == field::pattern && h_.structure == symmetry::skew_symmetric)
      fail("a pattern cannot be skew-symmetric: it has no signs");
    if (h_.is_unsigned && h_.structure == symmetry::skew_symmetric)
      fail("unsigned-integer values cannot be skew-symmetric");
  }

  void sizes() {
    while (true) {
      const auto text = next_line("the line of sizes");
      const auto words = tokens_of(text);
      if (words.empty()) continue;
      if (words[0][0] == '%') {
        comment(text);
        continue;
      }
      return sizes(words);
    }
  }

  void sizes(const std::vector<std::string_view>& words) {
    const std::size_t wanted = (vector_ ? 1U : 2U) + (h_.coordinate ? 1U : 0U);
    if (words.size() != wanted)
      fail(fmt::format("the line of sizes has {} numbers of {}: {}", words.size(), wanted,
                       h_.coordinate ? "rows, columns, entries" : "rows, columns"));
    h_.rows = size(words[0], "rows");
    h_.cols = vector_ ? 1 : size(words[1], "columns");
    if (h_.structure != symmetry::general && h_.rows != h_.cols)
      fail(fmt::format("{} x {} is not square, as a {} matrix must be", h_.rows, h_.cols,
                       name_of(h_.structure)));
    if (h_.coordinate)
      h_.entries = size(words.back(), "entries");
    else
      h_.entries = array_entries();
  }

  std::int64_t array_entries() {
    std::int64_t all = 0;
    if (__builtin_mul_overflow(h_.rows, h_.cols, &all))
      fail(fmt::format("{} x {} values do not fit 64 bits", h_.rows, h_.cols));
    const std::int64_t below = (all - h_.rows) / 2; // used for square ones only
    if (h_.structure == symmetry::general) return all;
    return h_.structure == symmetry::skew_symmetric ? below : below + h_.rows;
  }

  std::int64_t size(std::string_view word, const char* what) {
    const std::string text = std::string(word) + '\n';
    std::int64_t value = 0;
    if (parse_index(text.data(), value) == nullptr)
      fail(fmt::format("'{}' is not a number of {}", shown(word), what));
    if (value == INT64_MAX) fail(fmt::format("{} {} do not fit 64 bits", shown(word), what));
    return value;
  }

  template <class E>
  E choose(const char* what, std::string_view word,
           std::initializer_list<std::pair<const char*, E>> choices) {
    std::string names;
    for (const auto& [key, meaning] : choices) {
      if (lower_case(word) == key) return meaning;
      names += (names.empty() ? "" : ", ") + std::string(key);
    }
    fail(fmt::format("{} '{}' is none of {}", what, shown(word), names));
  }

  void comment(std::string_view text) {
    text.remove_prefix(text.find('%') + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (h_.comment.size() + text.size() < comment_limit) h_.comment.append(text) += '\n';
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw bad_input(what, name_, std::max<std::int64_t>(line_, 1));
  }

  text_source& source_;
  const std::string& name_;
  text_block& block_;
  std::int64_t& line_;
  bool vector_ = false;
  matrix_market_header h_;
};

} // namespace

matrix_market_header read_matrix_market_header(text_source& source, const std::string& name,
                                               text_block& rest, std::int64_t& line) {
  return header_parser(source, name, rest, line).parse();
}

} // namespace lacuna::io

// What infos say of themselves, and what is said when they do not fit.
#include <fmt/format.h>

#include <lacuna/op/inspection.hpp>
#include <lacuna/op/result.hpp>
#include <lacuna/op/galerkin.hpp>

namespace lacuna::detail {

void throw_other_info(const char* op) {
  throw bad_input(fmt::format(
      "{}: the info is empty, or was made by another operation or for other types", op));
}
void throw_other_direction(const char* op, const char* name, bool transposed) {
  throw bad_input(fmt::format("{}: {} was inspected {}, and is given {}", op, name,
                              transposed ? "as it is" : "transposed",
                              transposed ? "transposed" : "as it is"));
}
void throw_other_pattern(const char* op, const char* name) {
  throw bad_input(fmt::format(
      "{}: {} has as many entries as the matrix that was counted, but elsewhere", op, name));
}
void throw_no_room(const char* op, const char* name, std::int64_t room, std::int64_t needed) {
  throw size_mismatch(
      fmt::format("{}: {} has room for {} entries, the result has {}", op, name, room, needed));
}
void throw_no_pointers(const char* op, const char* name) {
  throw bad_input(fmt::format("{}: {} is a view without row (column) pointers", op, name));
}

std::string explain_transpose(std::int64_t entries, std::size_t bytes) {
  return fmt::format("the transposed pattern and the places of {} entries are kept, {} bytes: "
                     "values alone are moved",
                     entries, bytes);
}
std::string explain_product(std::int64_t entries, bool by_columns, bool a_turned, bool b_turned,
                            std::size_t bytes) {
  return fmt::format("C has {} entries, made by {}{}; {} bytes are kept", entries,
                     by_columns ? "columns" : "rows",
                     a_turned && b_turned ? ", from kept transposed patterns of both operands"
                     : a_turned           ? ", from a kept transposed pattern of A"
                     : b_turned           ? ", from a kept transposed pattern of B"
                                          : "",
                     bytes);
}
std::string explain_galerkin(std::int64_t entries, bool left_first, std::int64_t between,
                             std::size_t bytes) {
  return fmt::format("C has {} entries, made as {}, of which the first product has {}; {} bytes "
                     "are kept",
                     entries, left_first ? "(R A) P" : "R (A P)", between, bytes);
}

} // namespace lacuna::detail

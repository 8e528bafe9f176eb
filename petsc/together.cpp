#include "together.hpp"

#include <string>
#include <vector>

#include <lacuna/core/error.hpp>

namespace lacuna::petsc {
namespace {

/// An exception in words that travel.
struct told {
  std::string kind, message, file;
  std::int64_t line = 0;
};

told tell(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const bad_input& e) {
    return {e.kind(), e.what(), e.file(), e.line()};
  } catch (const unsupported& e) {
    return {e.kind(), e.what(), e.file(), e.line()};
  } catch (const error& e) {
    return {e.kind(), e.what(), {}, 0};
  } catch (const std::bad_alloc&) {
    return {"out_of_memory", "out of memory", {}, 0};
  } catch (const std::exception& e) {
    return {"error", e.what(), {}, 0};
  }
}

/// Without what at_file() puts before it, which the constructors do again.
std::string bare(const told& t) {
  if (t.file.empty()) return t.message;
  const std::string place = detail::at_file("", t.file, t.line);
  return t.message.starts_with(place) ? t.message.substr(place.size()) : t.message;
}

[[noreturn]] void throw_again(const told& t) {
  if (t.kind == "bad_input")
    throw t.file.empty() ? bad_input(t.message) : bad_input(bare(t), t.file, t.line);
  if (t.kind == "unsupported")
    throw t.file.empty() ? unsupported(t.message) : unsupported(bare(t), t.file, t.line);
  if (t.kind == "size_mismatch") throw size_mismatch(t.message);
  if (t.kind == "out_of_memory") throw out_of_memory(t.message, 0);
  throw failed(t.message);
}

void broadcast(MPI_Comm comm, int root, std::string& text) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, root, comm);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, root, comm);
}

} // namespace

void together(MPI_Comm comm, const std::function<void()>& f) {
  told mine;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int first = ranks;
  try {
    f();
  } catch (...) {
    mine = tell(std::current_exception());
    first = rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == ranks) return;
  for (std::string* text : {&mine.kind, &mine.message, &mine.file}) broadcast(comm, first, *text);
  MPI_Bcast(&mine.line, 1, MPI_INT64_T, first, comm);
  throw_again(mine);
}

} // namespace lacuna::petsc

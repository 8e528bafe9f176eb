#ifdef LACUNA_HAS_HDF5

#include "io/hdf5_remote.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lacuna/core/error.hpp>
#include <lacuna/core/printable.hpp>

#include "io/deflate.hpp"

namespace lacuna::io {
namespace {

enum request : std::int64_t { kind_of_path, names, read_array, text, integer };
enum outcome : std::int64_t { good, bad, not_supported, no_memory };

bool send_all(int socket, const void* data, std::size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::send(socket, p, size, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}
bool receive_all(int socket, void* data, std::size_t size) {
  char* p = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t done = ::recv(socket, p, size, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

/// The other process: answers until its socket is closed. Every answer begins with an outcome.
class server {
public:
  server(int socket, bytes_view file, const std::string& name)
      : socket_(socket), bytes_(file), name_(name) {}

  void run() {
    std::optional<hdf5_reader> reader;
    answer([&] { reader.emplace(bytes_, name_); });
    while (reader) {
      std::int64_t what = 0;
      if (!receive_all(socket_, &what, sizeof what)) return;
      const std::string path = get_text(), name = get_text();
      answer([&] { serve(*reader, what, path, name); });
    }
  }

private:
  void serve(const hdf5_reader& reader, std::int64_t what, const std::string& path,
             const std::string& name) {
    if (what == kind_of_path) {
      put(static_cast<std::int64_t>(reader.kind_of(path)));
    } else if (what == names) {
      const auto all = reader.names_in(path);
      put(static_cast<std::int64_t>(all.size()));
      for (const auto& n : all) put(n);
    } else if (what == text) {
      const auto attribute = reader.text_attribute(path, name);
      put(attribute ? 1 : 0);
      put(attribute.value_or(""));
    } else if (what == integer) {
      const auto number = reader.integer_attribute(path, name);
      put(number ? 1 : 0);
      put(number.value_or(0));
    } else {
      put_array(reader.read(ctx_, path));
    }
  }
  void put_array(hdf5_array a) {
    put(static_cast<std::int64_t>(a.shape.size()));
    for (const std::int64_t n : a.shape) put(n);
    put(a.numbers.size);
    put(static_cast<std::int64_t>(a.numbers.type));
    put(a.numbers.swapped ? 1 : 0);
    // Elements that stand in the file need not travel: both processes have it.
    const bool in_file = a.numbers.owned.empty() && a.numbers.size > 0;
    put(in_file ? a.numbers.data - bytes_.data() : -1);
    if (!in_file) array_ = std::move(a.numbers.owned);
  }

  template <class F> void answer(F f) {
    reply_.clear();
    array_ = {};
    put(good);
    try {
      f();
    } catch (const unsupported& e) {
      fail(not_supported, e.what());
    } catch (const out_of_memory& e) {
      fail(no_memory, e.what());
    } catch (const std::exception& e) {
      fail(bad, e.what());
    }
    if (!send_all(socket_, reply_.data(), reply_.size()) ||
        !send_all(socket_, array_.data(), array_.bytes()))
      ::_exit(0);
  }
  void fail(outcome o, std::string_view message) {
    reply_.clear();
    put(o);
    const std::string prefix =
        printable(name_) + ": "; // the other side puts it before the message again
    if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
    put(std::string(message));
  }
  void put(std::int64_t n) { reply_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void put(const std::string& s) {
    put(static_cast<std::int64_t>(s.size()));
    reply_ += s;
  }
  std::string get_text() const {
    std::int64_t size = 0;
    if (!receive_all(socket_, &size, sizeof size)) ::_exit(0);
    std::string result(static_cast<std::size_t>(size), '\0');
    if (!receive_all(socket_, result.data(), result.size())) ::_exit(0);
    return result;
  }

  int socket_;
  bytes_view bytes_;
  const std::string& name_;
  host_context ctx_{host_options{1}}; // no OpenMP here: its threads were not forked
  std::string reply_;
  array<char> array_; // follows the reply
};

/// This process may have no more memory than what it has, some for the library, and what the file
/// can expand to, in and out of the library.
void limit_memory(bytes_view file) {
  long pages = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  const rlim_t held = static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlim_t limit = held + (rlim_t{256} << 20) + 2 * most_inflated * file.size();
  const rlimit memory_limit{limit, limit};
  if (pages > 0) ::setrlimit(RLIMIT_AS, &memory_limit);
}

/// Ends quietly whatever happens, and not too late.
void become_server(int socket, bytes_view file, const std::string& name) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGINT, SIGTERM})
    std::signal(s, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(file);
  const rlim_t seconds = 2 + file.size() / 20000000; // inflating takes less by far
  const rlimit time{seconds, seconds};
  ::setrlimit(RLIMIT_CPU, &time);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); // the C library's last words
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  server(socket, file, name).run();
}

} // namespace

hdf5_remote::hdf5_remote(bytes_view file, const std::string& name) : bytes_(file), name_(name) {
  load_hdf5(name); // here, not in each process of its own
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw failed(std::string("cannot make a socket: ") + std::strerror(errno));
  child_.socket = ends[0];
  child_.process = fork_beside_hdf5();
  if (child_.process == 0) {
    ::close(ends[0]);
    become_server(ends[1], file, name);
    ::_exit(0);
  }
  ::close(ends[1]);
  if (child_.process < 0)
    throw failed(std::string("cannot start a process: ") + std::strerror(errno));
  get_outcome();
}

hdf5_remote::child::~child() {
  if (socket >= 0) ::close(socket);
  if (process <= 0) return;
  ::kill(process, SIGKILL); // it holds nothing that matters
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void hdf5_remote::throw_ended() const {
  throw_bad("HDF5 fails on this file: it must be damaged", name_);
}

void hdf5_remote::get(void* to, std::size_t size) const {
  if (!receive_all(child_.socket, to, size)) throw_ended();
}
std::int64_t hdf5_remote::get_number() const {
  std::int64_t n = 0;
  get(&n, sizeof n);
  return n;
}
std::string hdf5_remote::get_text() const {
  const std::int64_t size = get_number();
  if (size < 0 || size > std::int64_t{1} << 30) throw_ended();
  std::string result(static_cast<std::size_t>(size), '\0');
  get(result.data(), result.size());
  return result;
}

void hdf5_remote::get_outcome() const {
  const std::int64_t o = get_number();
  if (o == good) return;
  const std::string message = get_text();
  if (o == not_supported) throw unsupported(message, name_, 0);
  if (o == no_memory) throw out_of_memory(message, 0);
  throw_bad(message, name_);
}

void hdf5_remote::ask(std::int64_t what, const std::string& path, const std::string& name) const {
  std::string message(reinterpret_cast<const char*>(&what), sizeof what);
  for (const std::string& s : {path, name}) {
    const auto size = static_cast<std::int64_t>(s.size());
    message.append(reinterpret_cast<const char*>(&size), sizeof size);
    message += s;
  }
  if (!send_all(child_.socket, message.data(), message.size())) throw_ended();
  get_outcome();
}

hdf5_remote::kind hdf5_remote::kind_of(const std::string& path) const {
  ask(kind_of_path, path, "");
  return static_cast<kind>(get_number());
}

std::vector<std::string> hdf5_remote::names_in(const std::string& group) const {
  ask(names, group, "");
  std::vector<std::string> result;
  for (std::int64_t left = get_number(); left > 0; --left) result.push_back(get_text());
  return result;
}

std::optional<std::string> hdf5_remote::text_attribute(const std::string& path,
                                                       const std::string& name) const {
  ask(text, path, name);
  const bool present = get_number() != 0;
  std::string value = get_text();
  return present ? std::optional(std::move(value)) : std::nullopt;
}

std::optional<std::int64_t> hdf5_remote::integer_attribute(const std::string& path,
                                                           const std::string& name) const {
  ask(integer, path, name);
  const bool present = get_number() != 0;
  const std::int64_t value = get_number();
  return present ? std::optional(value) : std::nullopt;
}

/// Answers of a library that has lost its way are not believed, either.
hdf5_array hdf5_remote::read(const host_context& ctx, const std::string& path) const {
  ask(read_array, path, "");
  const std::int64_t rank = get_number();
  if (rank < 0 || rank > H5S_MAX_RANK) throw_ended();
  hdf5_array a;
  for (std::int64_t k = 0; k < rank; ++k) a.shape.push_back(get_number());
  const std::int64_t size = get_number(), type = get_number(), swapped = get_number(),
                     at = get_number();
  if (type < 0 || type > static_cast<std::int64_t>(number::complex128)) throw_ended();
  a.numbers = {path.substr(1), nullptr, size, static_cast<number>(type), swapped != 0, {}};
  const std::int64_t bytes = product(size, size_of(a.numbers.type), name_);
  if (at >= 0) {
    const auto all = static_cast<std::int64_t>(bytes_.size());
    if (at > all || bytes > all - at) throw_ended();
    a.numbers.data = bytes_.data() + at;
  } else {
    a.numbers.owned = array<char>(ctx, bytes);
    get(a.numbers.owned.data(), a.numbers.owned.bytes());
    a.numbers.data = a.numbers.owned.data();
  }
  return a;
}

} // namespace lacuna::io

#endif

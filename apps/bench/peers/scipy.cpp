#include "bench/peers/scipy.hpp"

#include <array>
#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace lacuna::bench {
namespace {

/// Answers each request with seconds, measured around the call alone, or with -1 and the reason.
/// `operand`, `make` and `check` are for peers/scipy_results.cpp, `hold` to `leave` for
/// peers/scipy_update.cpp: files hold bare arrays.
constexpr const char* script = R"(
import sys, time, warnings
warnings.filterwarnings('ignore')
try:
    import numpy, scipy, scipy.io, scipy.sparse
except ImportError as e:
    print('absent', e, flush=True)
    sys.exit()
print('SciPy', scipy.__version__, 'in', sys.executable, flush=True)
def operand(path, rows, cols, value):
    part = lambda end, kind: numpy.fromfile(path + end, kind)
    arrays = (part('.values', value), part('.colind', 'i4'), part('.rowptr', 'i4'))
    return scipy.sparse.csr_matrix(arrays, shape=(int(rows), int(cols)))
def make(what):
    if what == 'add': return m['a'] + m['b']
    if what == 'add_t': return (m['a'] + m['a'].T).tocsr()
    if what == 'transpose': return m['a'].T.tocsr()
    c = m['a'] @ m['b']
    c.sort_indices()
    return c
def entries(path, value):
    part = lambda end, kind: numpy.fromfile(path + end, kind)
    return part('.rowind', 'i4'), part('.colind', 'i4'), part('.values', value)
def insert(u, i, j, v):
    if u.format == 'lil':
        b = scipy.sparse.coo_matrix((v, (i, j)), shape=u.shape).tocsr().tocoo()
        u[b.row, b.col] = u[b.row, b.col].toarray().ravel() + b.data
    else:
        for k in zip(i.tolist(), j.tolist(), v.tolist()): u[k[0], k[1]] += k[2]
a, m, c = None, {}, None
for line in sys.stdin:
    what, path = line.rstrip('\n').split(' ', 1)
    try:
        begin = time.perf_counter()
        if what == 'read':
            if path.endswith('.npz'): b = scipy.sparse.load_npz(path)
            elif path.endswith('.mat'): b = scipy.io.loadmat(path)['A']
            elif path.endswith(('.mtx', '.mtx.gz')): b = scipy.io.mmread(path)
            else: raise ValueError('no reader')
        elif what == 'operand':
            name, *size, path = path.split(' ', 4)
            m[name] = operand(path, *size)
        elif what == 'same': m['b'] = m['a']
        elif what == 'make':
            c = None
            c = make(path)
        elif what == 'check':
            x = numpy.fromfile(path + '.x', c.dtype)
            (c @ x).tofile(path + '.y')
        elif what == 'hold':
            name, kind, *size, path = path.split(' ', 5)
            m[name] = operand(path, *size).asformat(kind)
        elif what == 'insert':
            name, value, path = path.split(' ', 2)
            insert(m[name], *entries(path, value))
        elif what == 'fetch':
            name, path = path.split(' ', 1)
            b = m[name].tocsr()
            b.sort_indices()
            b.indptr.astype('i4').tofile(path + '.rowptr')
            b.indices.astype('i4').tofile(path + '.colind')
            b.data.tofile(path + '.values')
        elif what == 'leave': m.pop(path, None)
        elif what == 'drop':
            m, c = {}, None
        else:
            if path.endswith('.npz'): scipy.sparse.save_npz(path, a.tocsr(), compressed=False)
            elif path.endswith('.mat'): scipy.io.savemat(path, {'A': a}, do_compression=True)
            elif path.endswith('.mtx'): scipy.io.mmwrite(path, a, symmetry='general')
            else: raise ValueError('no writer')
        seconds = time.perf_counter() - begin
        if what == 'read': a = b
        b = None
        print(seconds, flush=True)
    except Exception as e:
        print(-1, repr(e), flush=True)
)";

std::string line_from(std::FILE* file) {
  std::array<char, 4096> buffer{};
  if (std::fgets(buffer.data(), buffer.size(), file) == nullptr) return {};
  std::string line(buffer.data());
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

} // namespace

scipy::scipy() {
  const char* const named = std::getenv("LACUNA_PYTHON");
  const std::string python = named != nullptr ? named : "python3";
  int requests[2], answers[2];
  if (::pipe(requests) != 0 || ::pipe(answers) != 0) {
    about_ = "no pipe";
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  for (const int fd : {requests[0], requests[1], answers[0], answers[1]})
    posix_spawn_file_actions_addclose(&actions, fd);
  const char* arguments[] = {python.c_str(), "-c", script, nullptr};
  const int failed = ::posix_spawnp(&process_, python.c_str(), &actions, nullptr,
                                    const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(requests[0]);
  ::close(answers[1]);
  to_ = ::fdopen(requests[1], "w");
  from_ = ::fdopen(answers[0], "r");
  if (failed != 0) process_ = -1;
  about_ = failed != 0 ? "" : line_from(from_);
  if (!about_.starts_with("SciPy")) {
    about_ = fmt::format("{} has no SciPy (LACUNA_PYTHON names another Python)", python);
    std::fclose(to_);
    to_ = nullptr;
  }
}

scipy::~scipy() {
  if (to_ != nullptr) std::fclose(to_);
  if (from_ != nullptr) std::fclose(from_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

double scipy::ask(const std::string& request) {
  if (to_ == nullptr) return -1;
  fmt::print(to_, "{}\n", request);
  std::fflush(to_);
  const std::string answer = line_from(from_);
  trouble_ = answer.starts_with("-1 ") ? answer.substr(3) : "no answer";
  return answer.empty() ? -1 : std::strtod(answer.c_str(), nullptr);
}

void scipy::require(const std::string& request) {
  if (ask(request) < 0) throw failed("SciPy: " + trouble_);
}

} // namespace lacuna::bench

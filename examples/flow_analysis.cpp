// Which functions may be called where? Control-flow analysis of programs whose values are functions
// (0-CFA), by boolean sparse matrices that are multiplied and merged until nothing changes: the use
// that dynamic CSR was made for (King, Gilray, Kirby and Might 2016, section II.A).
//
// flow(x, y): what y may be, x may be too. sets(x, f): x may be function f. A call r = g(a) of a g
// that may be f makes a flow to f's parameter, and f's result to r; so products of `sets` make new
// edges of `flow`, and those new members of sets.
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include <lacuna/lacuna.hpp>

using matrix = lacuna::csr<float>;
using growing = lacuna::dynamic_csr<float>;

/// A program: variables, functions of one parameter, calls.
struct program {
  int variables = 0;
  std::vector<int> parameter, result;           // of each function
  std::vector<int> operand, argument, receiver; // of each call
  std::vector<int> to, from;                    // assignments
  std::vector<int> holder;                      // the variable that each function is first put in
};

/// Modules of a few functions each, which now and then call each other.
program some_program(int modules) {
  program p;
  std::mt19937 random(1);
  constexpr int functions = 6, size = 40; // of a module
  p.variables = modules * size;
  for (int m = 0; m < modules; ++m) {
    const auto own = [&] { return m * size + static_cast<int>(random() % size); };
    for (int f = 0; f < functions; ++f) {
      p.parameter.push_back(own());
      p.result.push_back(own());
      p.holder.push_back(own());
    }
    for (int c = 0; c < 9; ++c) {
      p.operand.push_back(own());
      p.argument.push_back(own());
      p.receiver.push_back(own());
    }
    for (int e = 0; e < 30; ++e) {
      p.to.push_back(own());
      const bool other = random() % 25 == 0;
      p.from.push_back(other ? static_cast<int>(random() % unsigned(p.variables)) : own());
    }
  }
  return p;
}

/// Ones at (row[k], col[k]).
matrix relation(const lacuna::host_context& ctx, const std::vector<int>& row,
                const std::vector<int>& col, int rows, int cols) {
  const std::vector<float> ones(row.size(), 1);
  return from_triplets(ctx, {rows, cols}, row, col, ones);
}
std::vector<int> counted(std::size_t n) {
  std::vector<int> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<int>(i);
  return all;
}
/// left times right, merged into m: how many entries are new.
std::int64_t merge(const lacuna::host_context& ctx, growing& m, const matrix& left,
                   const matrix& right) {
  return insert(ctx, m, multiply_pattern(ctx, left, right), {lacuna::existing::keep}).inserted;
}

/// The same by a list of what is still to be looked at, for comparison: members of sets, counted.
std::int64_t by_worklist(const program& p) {
  const std::size_t functions = p.parameter.size();
  std::vector<std::vector<char>> may_be(static_cast<std::size_t>(p.variables),
                                        std::vector<char>(functions));
  std::vector<std::vector<int>> flows_to(static_cast<std::size_t>(p.variables));
  std::vector<std::vector<std::size_t>> called_by(static_cast<std::size_t>(p.variables));
  for (std::size_t c = 0; c < p.operand.size(); ++c) called_by[p.operand[c]].push_back(c);
  std::vector<std::pair<int, std::size_t>> work;
  const auto add = [&](int x, std::size_t f) {
    if (may_be[x][f] != 0) return;
    may_be[x][f] = 1;
    work.emplace_back(x, f);
  };
  const auto connect = [&](int to, int from) {
    flows_to[from].push_back(to);
    for (std::size_t f = 0; f < functions; ++f)
      if (may_be[from][f] != 0) add(to, f);
  };
  for (std::size_t e = 0; e < p.to.size(); ++e) connect(p.to[e], p.from[e]);
  for (std::size_t f = 0; f < functions; ++f) add(p.holder[f], f);
  while (!work.empty()) {
    const auto [x, f] = work.back();
    work.pop_back();
    for (const int to : flows_to[x]) add(to, f);
    for (const std::size_t c : called_by[x]) {
      connect(p.parameter[f], p.argument[c]);
      connect(p.receiver[c], p.result[f]);
    }
  }
  std::int64_t members = 0;
  for (const auto& set : may_be)
    for (const char each : set) members += each;
  return members;
}

int main() {
  const lacuna::host_context ctx;
  const program p = some_program(300);
  const auto functions = static_cast<int>(p.parameter.size());
  const auto calls = static_cast<int>(p.operand.size());
  const auto each_call = counted(p.operand.size()), each_function = counted(p.parameter.size());
  const matrix operand = relation(ctx, each_call, p.operand, calls, p.variables);
  const matrix argument = relation(ctx, each_call, p.argument, calls, p.variables);
  const matrix receiver = relation(ctx, p.receiver, each_call, p.variables, calls);
  const matrix parameter = relation(ctx, p.parameter, each_function, p.variables, functions);
  const matrix result = relation(ctx, each_function, p.result, functions, p.variables);

  const auto start = std::chrono::steady_clock::now();
  growing flow(ctx, {p.variables, p.variables});
  insert(ctx, flow, relation(ctx, p.to, p.from, p.variables, p.variables),
         {lacuna::existing::keep});
  growing sets(ctx, {p.variables, functions});
  insert(ctx, sets, relation(ctx, p.holder, each_function, p.variables, functions));
  const std::int64_t assignments = flow.size();
  int rounds = 0;
  for (std::int64_t added = 1; added > 0; ++rounds) {
    added = merge(ctx, sets, to_csr(ctx, flow), to_csr(ctx, sets));
    const matrix called = multiply_pattern(ctx, operand, to_csr(ctx, sets)); // (call, function)
    const matrix callers = transpose(ctx, called);
    added += merge(ctx, flow, parameter, multiply_pattern(ctx, callers, argument));
    added += merge(ctx, flow, multiply_pattern(ctx, receiver, called), result);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::printf("%d variables, %d functions, %d calls\n", p.variables, functions, calls);
  std::printf("%d rounds, %.3f s: %lld edges, %lld of them assignments; sets of %lld members\n",
              rounds, seconds, static_cast<long long>(flow.size()),
              static_cast<long long>(assignments), static_cast<long long>(sets.size()));
  const std::int64_t expected = by_worklist(p);
  const bool right = sets.size() == expected;
  std::printf("%s: a worklist finds %lld members\n", right ? "verified" : "WRONG",
              static_cast<long long>(expected));
  return right ? 0 : 1;
}

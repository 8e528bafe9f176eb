// What commands share: choice of type and engine at the edge, text for people, common arguments.
#pragma once

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "common/device.hpp"
#include "common/json.hpp"
#include "common/matrix.hpp"
#include "common/print.hpp"
#include "lacuna/options.hpp"
#include <lacuna/op/cast.hpp>
#include <lacuna/core/config.hpp>
#include <lacuna/core/context.hpp>
#include <lacuna/io/write.hpp>
#include <lacuna/op/copy.hpp>

namespace CLI {
class Option;
class Validator;
} // namespace CLI

namespace lacuna::app {

/// Prints for people: on stdout, or on stderr where stdout carries the result (-o -). Silent with
/// --json and --quiet.
class talk {
public:
  explicit talk(const options& o, const std::string& output = {})
      : to_(o.json || o.quiet ? nullptr
            : output == "-"   ? stderr
                              : stdout) {}
  template <class... A> void operator()(fmt::format_string<A...> format, A&&... a) const {
    if (to_ != nullptr) app::print(to_, format, std::forward<A>(a)...);
  }

private:
  std::FILE* to_;
};

/// Calls f(0.0f) or f(0.0): the precision as a type.
template <class F> auto with_values(precision values, F&& f) {
  return values == precision::f32 ? f(float{}) : f(double{});
}

/// Calls f(context) with the engine that was asked for.
template <class F> auto on_engine(const options& o, F&& f) {
  const engine chosen = choose_engine(o.device);
  if constexpr (has_cuda)
    if (chosen.device) return f(device_context({.device = *chosen.device}));
  return f(host_context({o.threads}));
}
/// For commands that work on the host: a device that is asked for must be there all the same.
host_context host_only(const options& o);

/// An operand where the engine can reach it: itself, or a copy on the device.
template <space S, class A> decltype(auto) bring_to(const context<S>& ctx, const A& a) {
  if constexpr (S == space::host)
    return (a);
  else
    return copy_to(ctx, a);
}

/// Calls f(a, b) with two matrices of the same widths: as they are, or the narrower ones widened.
template <class Left, class Right, class F>
auto with_like_widths(const host_context& ctx, const Left& left, const Right& right, const F& f) {
  return std::visit(
      [&]<class T, class I, class O, class J, class Q>(const csr<T, I, O>& a,
                                                       const csr<T, J, Q>& b) {
        using W = std::common_type_t<I, J>;
        using R = std::common_type_t<O, Q>;
        if constexpr (std::is_same_v<I, J> && std::is_same_v<O, Q>)
          return f(a, b);
        else
          return f(cast<T, W, R>(ctx, a), cast<T, W, R>(ctx, b));
      },
      left, right);
}

std::string engine_name(const host_context& ctx);   ///< "host"
std::string engine_name(const device_context& ctx); ///< "cuda:0"
std::string engine_text(const host_context& ctx);   ///< "the CPU, 2 threads"
std::string engine_text(const device_context& ctx); ///< "cuda:0, NVIDIA H200"

bool shows_progress(const options& o);

/// The positional A, required.
CLI::Option* add_matrix(CLI::App& command, std::string& name);
/// /dev/stdout and its other names become "-": opened anew it would be written from its start.
CLI::Validator stdout_by_name();
/// -o FILE for a matrix or vector; throws a usage error if no writer has that extension.
CLI::Option* add_output(CLI::App& command, std::string& path, const std::string& help);
/// Called before there is work: throws a usage error if stdout would have to carry the result and
/// a JSON object, and error if the file cannot be written.
void require_output(const options& o, const std::string& output);

/// lacuna info gen: prints them all.
int list_generators(const options& o);

/// io::write with a progress bar. `from` says what the matrix was in its file: field and symmetry
/// are kept where they still hold, unless `general`.
template <class T, class I, class O>
void write_like(const options& o, const host_context& ctx, const std::string& path,
                csr_view<const T, I, O> a, const io::file_info& from, bool general);

} // namespace lacuna::app

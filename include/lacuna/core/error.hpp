// The few exceptions Lacuna throws. Every one leaves the operands of the failing call as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lacuna/core/export.hpp>

namespace lacuna {

namespace detail {
/// "file:12: what"; without the line where it is 0.
LACUNA_EXPORT std::string at_file(const std::string& what, const std::string& file,
                                  std::int64_t line);
} // namespace detail

/// Base of all; catch this to catch everything Lacuna throws on purpose. Each class is a standard
/// exception too: what the caller passed is std::invalid_argument, the rest std::runtime_error.
class LACUNA_EXPORT error {
public:
  virtual ~error() = default;
  [[nodiscard]] virtual const char* what() const noexcept = 0;
  /// A stable, machine-readable name: the class's own.
  [[nodiscard]] virtual const char* kind() const noexcept = 0;

protected:
  error() = default;
  error(const error&) = default;
  error& operator=(const error&) = default;
};

/// What none of the others names: a file that cannot be written, a process that does not start.
class LACUNA_EXPORT failed : public std::runtime_error, public error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] const char* what() const noexcept override { return runtime_error::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "error"; }
};

/// The data breaks a written rule: an index out of range, a file that does not parse.
class LACUNA_EXPORT bad_input : public std::invalid_argument, public error {
public:
  using std::invalid_argument::invalid_argument;
  bad_input(const std::string& what, std::string file, std::int64_t line)
      : invalid_argument(detail::at_file(what, file, line)), file_(std::move(file)), line_(line) {}
  [[nodiscard]] const char* what() const noexcept override { return invalid_argument::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "bad_input"; }
  /// Where a file was at fault; empty and 0 otherwise. Line 0: no particular one.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

private:
  std::string file_;
  std::int64_t line_ = 0;
};

/// Operands whose sizes do not fit each other.
class LACUNA_EXPORT size_mismatch : public std::invalid_argument, public error {
public:
  using std::invalid_argument::invalid_argument;
  [[nodiscard]] const char* what() const noexcept override { return invalid_argument::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "size_mismatch"; }
};

/// An allocation failed, or would pass the limit that was set.
class LACUNA_EXPORT out_of_memory : public std::runtime_error, public error {
public:
  out_of_memory(const std::string& what, std::size_t bytes) : runtime_error(what), bytes_(bytes) {}
  [[nodiscard]] const char* what() const noexcept override { return runtime_error::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "out_of_memory"; }
  /// Bytes asked for.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
  std::size_t bytes_;
};

/// The GPU or its driver reported a failure, or the device asked for is not there.
class LACUNA_EXPORT device_error : public std::runtime_error, public error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] const char* what() const noexcept override { return runtime_error::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "device_error"; }
};

class LACUNA_EXPORT not_converged : public std::runtime_error, public error {
public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] const char* what() const noexcept override { return runtime_error::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "not_converged"; }
};

/// A request that is well formed but not served by this build or for this type.
class LACUNA_EXPORT unsupported : public std::runtime_error, public error {
public:
  using std::runtime_error::runtime_error;
  unsupported(const std::string& what, std::string file, std::int64_t line)
      : runtime_error(detail::at_file(what, file, line)), file_(std::move(file)), line_(line) {}
  [[nodiscard]] const char* what() const noexcept override { return runtime_error::what(); }
  [[nodiscard]] const char* kind() const noexcept override { return "unsupported"; }
  /// Where a file asks for it; empty and 0 otherwise.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

private:
  std::string file_;
  std::int64_t line_ = 0;
};

namespace detail {

/// Throws size_mismatch: "multiply: x has 3 elements, A has 4 columns".
[[noreturn]] LACUNA_EXPORT void throw_size_mismatch(std::string_view op, std::string_view left,
                                                    std::int64_t left_size, std::string_view right,
                                                    std::int64_t right_size);

/// Both sizes go into the message; nothing is formatted unless they differ.
inline void require_same_size(std::string_view op, std::string_view left, std::int64_t left_size,
                              std::string_view right, std::int64_t right_size) {
  if (left_size != right_size) throw_size_mismatch(op, left, left_size, right, right_size);
}

} // namespace detail
} // namespace lacuna

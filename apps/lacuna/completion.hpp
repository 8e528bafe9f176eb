// What shells complete: the commands and options as they are, free of CLI11.
#pragma once

#include <string>
#include <vector>

namespace lacuna::app {

/// What can stand in a place of the command line.
struct completed_value {
  enum class kind { none, anything, words, files, matrices } what = kind::none;
  std::string title;              ///< "FILE"
  std::vector<std::string> words; ///< for kind::words
};

struct completed_option {
  std::vector<std::string> names; ///< "-o", "--output"
  std::string help;
  completed_value value;
};

struct completed_command {
  std::string name, help;
  std::vector<completed_option> options;
  std::vector<completed_value> arguments;
};

struct completed_program {
  std::vector<completed_option> options; ///< of every command
  std::vector<completed_command> commands;
  std::vector<std::string> generated; ///< "poisson2d", "poisson2d:n=100"
};

/// Endings of files that may hold a matrix, for lists and patterns.
inline const std::vector<std::string> matrix_endings = {"mtx",  "mm", "npz", "npy", "mat", "h5",
                                                        "hdf5", "rb", "hb",  "rua", "rsa", "pua",
                                                        "psa",  "gz", "zst", "bz2", "tgz", "tar"};

std::string bash_completion(const completed_program& program);
std::string zsh_completion(const completed_program& program);
std::string fish_completion(const completed_program& program);

} // namespace lacuna::app

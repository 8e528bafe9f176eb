#include "bench/matrices.hpp"

#include <algorithm>

#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>

namespace lacuna::bench {
namespace {

/// In double: small about 10 MB each, medium 150 to 250 MB (beyond most last-level caches), large
/// about 1 GB and more (for devices).
std::vector<std::string> set_of(size_class size) {
  if (size == size_class::small)
    return {"poisson2d:n=400",        "poisson3d:n=48",
            "poisson3d27:n=32",       "fem3d:n=16,dof=3",
            "tridiagonal:n=300000",   "banded:n=30000,half_bandwidth=16",
            "dense:n=1000,m=1000",    "uniform:rows=60000,per_row=16",
            "rmat:scale=16,edges=16", "kron:scale=15,edges=16",
            "circuit:n=200000",       "arrow:n=300000"};
  if (size == size_class::medium)
    return {"poisson2d:n=1500",       "poisson3d:n=128",
            "poisson3d27:n=80",       "fem3d:n=40,dof=3",
            "tridiagonal:n=5000000",  "banded:n=500000,half_bandwidth=16",
            "dense:n=4000,m=4000",    "uniform:rows=1000000,per_row=16",
            "rmat:scale=20,edges=16", "kron:scale=19,edges=16",
            "circuit:n=3000000",      "arrow:n=4000000"};
  return {"poisson2d:n=4096",       "poisson3d:n=256",
          "poisson3d27:n=160",      "fem3d:n=80,dof=3",
          "tridiagonal:n=30000000", "banded:n=3000000,half_bandwidth=16",
          "dense:n=10000,m=10000",  "uniform:rows=6000000,per_row=16",
          "rmat:scale=22,edges=16", "kron:scale=21,edges=16",
          "circuit:n=20000000",     "arrow:n=25000000"};
}

std::string name_of(const std::string& spec) { return spec.substr(0, spec.find(':')); }

/// "a:x=1,y=2,b" is two: a piece with '=' and no ':' belongs to the one before.
std::vector<std::string> split(const std::vector<std::string>& typed) {
  std::vector<std::string> result;
  for (const auto& text : typed)
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      std::string piece = text.substr(at, end - at);
      if (piece.starts_with("gen:")) piece.erase(0, 4);
      const bool parameter =
          piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
      if (parameter && at > 0 && !result.empty())
        result.back() += "," + piece;
      else if (!piece.empty())
        result.push_back(piece);
      at = end + 1;
    }
  return result;
}

} // namespace

std::vector<std::string> choose_matrices(const settings& s, size_class usual) {
  auto set = set_of(s.size == size_class::automatic ? usual : s.size);
  if (s.matrices.empty()) {
    // Many columns make dense operands of several times the matrix: rows are kept few.
    if (s.what == suite::spmm)
      std::erase_if(set, [](const auto& spec) {
        return spec.starts_with("tridiagonal") || spec.starts_with("circuit") ||
               spec.starts_with("arrow") || spec.starts_with("dense");
      });
    return set;
  }
  const auto known = gen::generators();
  std::vector<std::string> result;
  for (const auto& wanted : split(s.matrices)) {
    if (std::ranges::none_of(known, [&](const auto& g) { return g.name == name_of(wanted); })) {
      std::string names;
      for (const auto& g : known) names += (names.empty() ? "" : ", ") + g.name;
      throw bad_input("no matrix is called " + name_of(wanted) + "; there are " + names);
    }
    const auto in_set = std::ranges::find(set, wanted, name_of);
    result.push_back(in_set != set.end() && wanted == name_of(wanted) ? *in_set : wanted);
  }
  return result;
}

bool is_stencil(const std::string& spec) { return spec.starts_with("poisson"); }

} // namespace lacuna::bench

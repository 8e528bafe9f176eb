#include "bench/matrices.hpp"

#include <algorithm>
#include <filesystem>

#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>

namespace lacuna::bench {
namespace {

using sources = std::vector<matrix_source>;

/// In double: small about 10 MB each, medium 150 to 250 MB (beyond most last-level caches), large
/// about 1 GB and more (for devices).
sources few_of(size_class size) {
  if (size == size_class::small)
    return {{"poisson2d:n=400"},        {"poisson3d:n=48"},
            {"poisson3d27:n=32"},       {"fem3d:n=16,dof=3"},
            {"tridiagonal:n=300000"},   {"banded:n=30000,half_bandwidth=16"},
            {"dense:n=1000,m=1000"},    {"uniform:rows=60000,per_row=16"},
            {"rmat:scale=16,edges=16"}, {"kron:scale=15,edges=16"},
            {"circuit:n=200000"},       {"arrow:n=300000"}};
  if (size == size_class::medium)
    return {{"poisson2d:n=1500"},       {"poisson3d:n=128"},
            {"poisson3d27:n=80"},       {"fem3d:n=40,dof=3"},
            {"tridiagonal:n=5000000"},  {"banded:n=500000,half_bandwidth=16"},
            {"dense:n=4000,m=4000"},    {"uniform:rows=1000000,per_row=16"},
            {"rmat:scale=20,edges=16"}, {"kron:scale=19,edges=16"},
            {"circuit:n=3000000"},      {"arrow:n=4000000"}};
  return {{"poisson2d:n=4096"},       {"poisson3d:n=256"},
          {"poisson3d27:n=160"},      {"fem3d:n=80,dof=3"},
          {"tridiagonal:n=30000000"}, {"banded:n=3000000,half_bandwidth=16"},
          {"dense:n=10000,m=10000"},  {"uniform:rows=6000000,per_row=16"},
          {"rmat:scale=22,edges=16"}, {"kron:scale=21,edges=16"},
          {"circuit:n=20000000"},     {"arrow:n=25000000"}};
}

/// Of one vector: more kinds. The large ones begin with those that published.cpp knows, of 30 to
/// 700 MB; the last eight have more than 500 MB.
sources set_of_vectors(size_class size) {
  sources set = few_of(size);
  if (size == size_class::medium)
    for (const char* spec :
         {"poisson2d9:n=1300", "rgg:scale=20", "qcd:n=14", "elasticity3d:n=44", "kkt:n=66",
          "cage:length=8", "epidemiology:n=3000", "trace3:n=2145", "mesh2d:n=1400,shuffle=1",
          "road:n=2500", "debruijn:scale=22", "web:n=3000000", "patents:n=3000000",
          "lp:rows=4284,cols=1090000", "localized:n=150000"})
      set.push_back({spec});
  if (size == size_class::large)
    set = {{"poisson3d27:n=128"},
           {"poisson3d:n=128"},
           {"poisson2d9:n=1024"},
           {"poisson2d:n=1000"},
           {"fem3d:n=40,dof=3"},
           {"rgg:scale=20"},
           {"qcd:n=16"},
           {"uniform:rows=1048576,per_row=8"},
           {"trace3:n=2145"},
           {"kron:scale=18"},
           {"circuit:n=3000000"},
           {"lp:rows=4284,cols=1090000"},
           {"web:n=1000000"},
           {"dense:n=2000,m=2000"},
           {"rmat:scale=20,edges=16"},
           {"elasticity3d:n=44"},
           {"kkt:n=66"},
           {"cage:length=8"},
           {"epidemiology:n=3000"},
           {"mesh2d:n=1400,shuffle=1"},
           {"road:n=2500"},
           {"debruijn:scale=22"},
           {"patents:n=3000000"},
           {"localized:n=150000"},
           {"tridiagonal:n=5000000"},
           {"arrow:n=4000000"},
           {"poisson2d:n=4096"},
           {"poisson3d:n=256"},
           {"poisson3d27:n=160"},
           {"fem3d:n=80,dof=3"},
           {"banded:n=3000000,half_bandwidth=16"},
           {"uniform:rows=6000000,per_row=16"},
           {"rmat:scale=22,edges=16"},
           {"circuit:n=20000000"}};
  return set;
}

/// Like the sixteen of paper 000's Table I in rows, entries per row and their spread: large in its
/// sizes, medium of at most 12 M entries, small of about half a million.
sources like_king(size_class size) {
  const auto like = [size](const char* large, const char* medium, const char* small,
                           const char* real) {
    return matrix_source{size == size_class::large    ? large
                         : size == size_class::medium ? medium
                                                      : small,
                         {},
                         false,
                         real};
  };
  const auto same = [&](const char* spec, const char* small, const char* real) {
    return like(spec, spec, small, real);
  };
  return {
      same("uniform:rows=735323,per_row=7", "uniform:rows=70000,per_row=7", "AMA"),
      same("web:n=325557,degree=10", "web:n=50000,degree=10", "CNR"),
      same("rmat:scale=18,edges=3,a=0.45,b=0.22,c=0.22",
           "rmat:scale=17,edges=3,a=0.45,b=0.22,c=0.22", "DBL"),
      same("rmat:scale=16,edges=4", "rmat:scale=16,edges=4", "ENR"),
      like("web:n=862664,degree=22", "web:n=540000,degree=22", "web:n=24000,degree=22", "EU2"),
      same("rmat:scale=20,edges=10", "rmat:scale=16,edges=9", "FLI"),
      like("kron:scale=20,edges=28", "kron:scale=18,edges=25", "kron:scale=13,edges=30", "HOL"),
      like("web:n=1382908,degree=12", "web:n=1000000,degree=12", "web:n=45000,degree=12", "IN2"),
      like("web:n=7414866,degree=26", "web:n=460000,degree=26", "web:n=20000,degree=26", "IND"),
      same("web:n=124651,degree=1.7", "web:n=124651,degree=1.7", "INT"),
      same("kron:scale=18,edges=20", "kron:scale=14,edges=20", "KRO"),
      like("rmat:scale=22,edges=19,a=0.5,b=0.2,c=0.2", "rmat:scale=19,edges=19,a=0.5,b=0.2,c=0.2",
           "rmat:scale=15,edges=17,a=0.5,b=0.2,c=0.2", "LJO"),
      same("lp:rows=4284,cols=1092610", "lp:rows=400,cols=50000", "RAL"),
      like("rmat:scale=22,edges=16,a=0.5,b=0.2,c=0.2", "rmat:scale=19,edges=16,a=0.5,b=0.2,c=0.2",
           "rmat:scale=15,edges=14,a=0.5,b=0.2,c=0.2", "SOC"),
      same("web:n=1000005", "web:n=150000", "WEB"),
      like("rmat:scale=21,edges=10,a=0.5,b=0.2,c=0.2", "rmat:scale=20,edges=10,a=0.5,b=0.2,c=0.2",
           "rmat:scale=16,edges=8,a=0.5,b=0.2,c=0.2", "WIK")};
}

/// Like the eleven of paper 001's Table 4, in its sizes or, where a run should be short, smaller.
/// Nothing generated has as many products as TSC_OPF.
sources like_parger(size_class size) {
  const bool whole = size != size_class::small;
  const auto like = [whole](const char* spec, const char* smaller, const char* real) {
    return matrix_source{whole ? spec : smaller, {}, false, real};
  };
  return {like("web:n=1000005", "web:n=200000", "webbase"),
          like("trace3:n=4600", "trace3:n=700", "hugebubbles"),
          like("poisson2d:n=624", "poisson2d:n=400", "mario002"),
          like("lp:rows=29089,cols=957432,per_col=3", "lp:rows=10000,cols=300000,per_col=3",
               "stat96v2"),
          like("kron:scale=15,edges=6", "kron:scale=12,edges=6", "email-Enron"),
          like("cage:length=7", "cage:length=6", "cage13"),
          like("rgg:scale=17", "rgg:scale=15", "144"),
          like("poisson3d27:n=24", "poisson3d27:n=24", "poisson3Da"),
          like("qcd:n=4", "qcd:n=4", "QCD"),
          like("fem3d:n=29,dof=2", "fem3d:n=16,dof=2", "harbor"),
          like("localized:n=8140,block=62,clusters=3", "localized:n=2000,block=62,clusters=1",
               "TSC_OPF")};
}

/// Like the fourteen of Williams et al. (paper 003, figure 3) in rows, entries per row and kind of
/// pattern; small: a tenth to a twentieth of the rows. Nothing generated is much like Economics:
/// its row length, columns at random.
sources like_williams(size_class size) {
  const auto like = [size](const char* spec, const char* smaller, const char* real) {
    return matrix_source{size == size_class::small ? smaller : spec, {}, false, real};
  };
  return {like("dense:n=2000,m=2000", "dense:n=600,m=600", "Dense"),
          like("localized:n=36416,block=30,clusters=4", "localized:n=3600,block=30,clusters=4",
               "Protein"),
          like("fem3d:n=30,dof=3", "fem3d:n=13,dof=3", "FEM/Spheres"),
          like("elasticity3d:n=26", "elasticity3d:n=12", "FEM/Cantilever"),
          like("fem3d:n=48,dof=2", "fem3d:n=20,dof=2", "Wind Tunnel"),
          like("fem3d:n=29,dof=2", "fem3d:n=14,dof=2", "FEM/Harbor"),
          like("qcd:n=8", "qcd:n=5", "QCD"),
          like("fem3d:n=41,dof=2", "fem3d:n=18,dof=2", "FEM/Ship"),
          like("uniform:rows=206500,per_row=6", "uniform:rows=40000,per_row=6", "Economics"),
          like("epidemiology:n=1024", "epidemiology:n=300", "Epidemiology"),
          like("rgg:scale=17,degree=21", "rgg:scale=14,degree=21", "FEM/Accelerator"),
          like("circuit:n=170998", "circuit:n=40000", "Circuit"),
          like("web:n=1000005", "web:n=100000", "Webbase"),
          like("lp:rows=4284,cols=1092610", "lp:rows=500,cols=60000", "LP")};
}

/// Like the thesis' matrices of paper 002 (its figure 7.1), a tenth to a third of their size.
sources like_derler() {
  const auto like = [](const char* spec, const char* real) {
    return matrix_source{spec, {}, false, real};
  };
  return {like("road:n=1000", "asia_osm"),
          like("circuit:n=321800", "ASIC_320k"),
          like("fem3d:n=24,dof=3", "bone010"),
          like("cage:length=6", "cage12"),
          like("circuit:n=900000", "circuit5M"),
          like("dense:n=1500,m=1500", "dense"),
          like("web:n=400000", "in-2004"),
          like("kkt:n=40", "kkt_power"),
          like("elasticity3d:n=24", "ldoor"),
          like("poisson2d:n=725", "parabolic_fem"),
          like("poisson3d27:n=24", "poisson3Da"),
          like("lp:rows=1000,cols=250000", "rail4284"),
          like("uniform:rows=500000,per_row=4", "Rucci1"),
          like("rgg:scale=15,degree=70", "sme3Dc"),
          like("localized:n=100000,block=30,clusters=4", "special"),
          like("rmat:scale=17", "webbase")};
}

/// Like matrices of paper 004's suite: square, 1 to 6 million rows, less than 60 million entries;
/// small: about 100 thousand rows.
sources like_lane_booth(size_class size) {
  const auto like = [size](const char* spec, const char* smaller, const char* real) {
    return matrix_source{size == size_class::small ? smaller : spec, {}, false, real};
  };
  return {like("debruijn:scale=21", "debruijn:scale=17", "debr"),
          like("road:n=1500", "road:n=350", "roadNet-CA"),
          like("trace3:n=2145", "trace3:n=350", "hugetrace-00000"),
          like("poisson2d:n=1000", "poisson2d:n=320", "ecology2"),
          like("mesh2d:n=1024", "mesh2d:n=320", "delaunay_n20"),
          like("mesh2d:n=1024,shuffle=1", "mesh2d:n=320,shuffle=1", "the same, numbered at random"),
          like("poisson3d:n=108", "poisson3d:n=44", "atmosmodd"),
          like("rgg:scale=20", "rgg:scale=16", "rgg_n_2_20_s0"),
          like("circuit:n=3000000", "circuit:n=120000", "FullChip"),
          like("web:n=1000005", "web:n=150000", "webbase-1M"),
          like("patents:n=3774768", "patents:n=150000", "patents"),
          like("rmat:scale=20,edges=8", "rmat:scale=16,edges=8", "wiki-Talk")};
}

/// Of C = A A, and A A^T of lp. Small: 0.1 to 30 M products; large: those that
/// published_spgemm.cpp knows, of 4 M to 8 G products, and five more. No arrow: its square is
/// dense.
sources set_of_products(size_class size) {
  if (size == size_class::small)
    return {{"poisson2d:n=300"},
            {"poisson2d9:n=250"},
            {"poisson3d:n=40"},
            {"poisson3d27:n=20"},
            {"fem3d:n=12,dof=3"},
            {"rgg:scale=15"},
            {"uniform:rows=50000"},
            {"debruijn:scale=17"},
            {"trace3:n=500"},
            {"web:n=200000"},
            {"rmat:scale=12"},
            {"kron:scale=11"},
            {"qcd:n=6"},
            {"dense:n=250,m=250"},
            {"circuit:n=15000"},
            {"banded:n=20000,half_bandwidth=16"},
            {"lp:rows=500,cols=50000"}};
  if (size == size_class::medium)
    return {{"poisson2d:n=1000"},
            {"poisson2d9:n=1024"},
            {"poisson3d:n=100"},
            {"poisson3d27:n=50"},
            {"fem3d:n=25,dof=3"},
            {"rgg:scale=18"},
            {"uniform:rows=500000"},
            {"debruijn:scale=20"},
            {"trace3:n=2145"},
            {"web:n=1000000"},
            {"rmat:scale=14"},
            {"kron:scale=13"},
            {"qcd:n=10"},
            {"dense:n=700,m=700"},
            {"circuit:n=40000"},
            {"banded:n=200000,half_bandwidth=16"},
            {"lp:rows=2000,cols=500000"}};
  return {{"poisson2d:n=1000"},
          {"poisson2d9:n=1024"},
          {"poisson3d:n=128"},
          {"poisson3d27:n=128"},
          {"fem3d:n=40,dof=3"},
          {"rgg:scale=20"},
          {"uniform:rows=1048576,per_row=8"},
          {"debruijn:scale=20"},
          {"trace3:n=2145"},
          {"web:n=1000000"},
          {"rmat:scale=17,edges=8,a=0.5,b=0.2,c=0.2"},
          {"rmat:scale=17"},
          {"kron:scale=14"},
          {"qcd:n=16"},
          {"dense:n=2000,m=2000"},
          {"circuit:n=100000"},
          {"kron:scale=16"},
          {"banded:n=500000,half_bandwidth=16"},
          {"lp:rows=4284,cols=1090000"}};
}

/// Regular rows, and hubs. Of update: 2^17 rows and 1.2 M entries, 2^20 and 10 M, 2^20 and 100 M.
sources set_of_updates(size_class size) {
  if (size == size_class::small)
    return {{"uniform:rows=131072,per_row=9"}, {"rmat:scale=17,edges=10"}};
  if (size == size_class::large)
    return {{"uniform:rows=1048576,per_row=96"}, {"rmat:scale=20,edges=112"}};
  return {{"uniform:rows=1048576,per_row=10"}, {"rmat:scale=20,edges=10"}};
}

/// Levels of all widths: stencils, blocks, a graph, a band, rows whose order means nothing.
sources set_of_triangles(size_class size) {
  if (size == size_class::small)
    return {{"poisson2d:n=300"},  {"poisson3d:n=40"},
            {"poisson3d27:n=24"}, {"fem3d:n=14,dof=3"},
            {"rgg:scale=14"},     {"banded:n=20000,half_bandwidth=16"},
            {"circuit:n=100000"}, {"uniform:rows=100000,per_row=6"}};
  if (size == size_class::medium)
    return {{"poisson2d:n=1000"},
            {"poisson2d9:n=1024"},
            {"poisson3d:n=128"},
            {"poisson3d27:n=128"},
            {"fem3d:n=40,dof=3"},
            {"rgg:scale=20"},
            {"circuit:n=3000000"},
            {"banded:n=100000,half_bandwidth=16"},
            {"uniform:rows=1000000,per_row=6"}};
  return {{"poisson2d:n=4096"}, {"poisson3d:n=256"}, {"poisson3d27:n=160"},
          {"fem3d:n=80,dof=3"}, {"rgg:scale=22"},    {"circuit:n=20000000"}};
}

/// Symmetric, positive definite.
sources set_of_systems(size_class size) {
  if (size == size_class::small)
    return {{"poisson2d:n=300"}, {"poisson3d:n=48"}, {"poisson3d27:n=32"}, {"elasticity3d:n=14"}};
  if (size == size_class::large)
    return {
        {"poisson2d:n=4096"}, {"poisson3d:n=256"}, {"poisson3d27:n=160"}, {"elasticity3d:n=80"}};
  return {{"poisson2d:n=1000"}, {"poisson3d:n=100"}, {"poisson3d27:n=64"}, {"elasticity3d:n=30"}};
}

/// Table V's largest of King et al. (2016) and what AMGX was measured on, and harder problems.
sources set_of_multigrid(size_class size) {
  if (size == size_class::small)
    return {{"poisson2d:n=256"}, {"poisson3d:n=32"}, {"poisson3d27:n=24"}, {"anisotropic:n=256"}};
  if (size == size_class::large)
    return {{"poisson2d:n=1024"},
            {"poisson3d:n=64"},
            {"poisson3d:n=128"},
            {"poisson3d27:n=128"},
            {"poisson3d:n=256"},
            {"anisotropic:n=1024"},
            {"variable:n=128,dim=3,contrast=1e6"}};
  return {{"poisson2d:n=1024"},
          {"poisson3d:n=64"},
          {"poisson3d27:n=64"},
          {"anisotropic:n=512"},
          {"variable:n=64,dim=3,contrast=1e6"},
          {"elasticity3d:n=24"},
          {"rgg:scale=17"}};
}

sources set_of(suite what, size_class size) {
  switch (what) {
  case suite::trisolve: return set_of_triangles(size);
  case suite::spgemm: return set_of_products(size);
  case suite::add_t: {
    auto set = set_of_vectors(size);
    std::erase_if(set, [](const matrix_source& m) { return m.name.starts_with("lp"); });
    return set;
  }
  case suite::update: return set_of_updates(size);
  case suite::cg: return set_of_systems(size);
  case suite::amg: return set_of_multigrid(size);
  case suite::paper_000: return like_king(size);
  case suite::paper_001: return like_parger(size);
  case suite::paper_002: return like_derler();
  case suite::paper_003: return like_williams(size);
  case suite::paper_004: return like_lane_booth(size);
  case suite::spmm: {
    auto set = few_of(size);
    // Many columns make dense operands of several times the matrix: rows are kept few.
    std::erase_if(set, [](const matrix_source& m) {
      return m.name.starts_with("tridiagonal") || m.name.starts_with("circuit") ||
             m.name.starts_with("arrow") || m.name.starts_with("dense");
    });
    return set;
  }
  default: return set_of_vectors(size);
  }
}

std::string kind_of(const std::string& spec) { return spec.substr(0, spec.find(':')); }

/// "a:x=1,y=2,b" is two: a word with '=' and no ':' belongs to the one before.
std::vector<std::string> split(const std::vector<std::string>& typed) {
  std::vector<std::string> result;
  for (const auto& text : typed)
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      std::string word = text.substr(at, end - at);
      if (word.starts_with("gen:")) word.erase(0, 4);
      const bool parameter =
          word.find('=') != std::string::npos && word.find(':') == std::string::npos;
      if (parameter && at > 0 && !result.empty())
        result.back() += "," + word;
      else if (!word.empty())
        result.push_back(word);
      at = end + 1;
    }
  return result;
}

matrix_source file_source(const std::string& path, bool optional) {
  const std::string name = std::filesystem::path(path).filename().string();
  return {name.substr(0, name.find('.')), path, optional};
}

sources named_by_user(const std::vector<std::string>& typed, const sources& set) {
  const auto known = gen::generators();
  sources result;
  for (const auto& wanted : split(typed)) {
    if (wanted == "none") continue;
    if (io::is_readable_name(wanted)) {
      result.push_back(file_source(wanted, false));
      continue;
    }
    const std::string kind = kind_of(wanted);
    if (std::ranges::none_of(known, [&](const auto& g) { return g.name == kind; })) {
      std::string names;
      for (const auto& g : known) names.append(names.empty() ? "" : ", ").append(g.name);
      throw bad_input("no matrix is called " + kind + "; there are files, and " + names);
    }
    const auto in_set = std::ranges::find_if(
        set, [&](const matrix_source& m) { return kind_of(m.name) == wanted; });
    result.push_back(in_set != set.end() ? *in_set : matrix_source{wanted});
  }
  return result;
}

void add_folder(const std::string& folder, sources& result) {
  std::error_code failed;
  std::vector<std::string> paths;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed))
    if (io::is_readable_name(each.path().string())) paths.push_back(each.path().string());
  if (failed) throw bad_input("--real: " + folder + ": " + failed.message());
  std::ranges::sort(paths);
  for (const auto& path : paths) result.push_back(file_source(path, true));
}

} // namespace

std::vector<matrix_source> choose_matrices(const settings& s, size_class usual) {
  sources result = set_of(s.what, s.size == size_class::automatic ? usual : s.size);
  if (!s.matrices.empty()) result = named_by_user(s.matrices, result);
  if (!s.real.empty()) add_folder(s.real, result);
  if (result.empty()) throw bad_input("there is no matrix to run on");
  return result;
}

csr<double> load(const host_context& ctx, const matrix_source& source) {
  if (source.file.empty()) return gen::generate<double, index_t, offset_t>(ctx, source.name);
  return io::read_csr<double, index_t, offset_t>(ctx, source.file);
}

bool is_stencil(const std::string& spec) { return spec.starts_with("poisson"); }

} // namespace lacuna::bench

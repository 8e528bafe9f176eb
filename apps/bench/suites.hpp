// Which suite runs, wherever it runs.
#pragma once

#include "bench/amg.hpp"
#include "bench/matrix_suite.hpp"
#include "bench/paper_000.hpp"
#include "bench/paper_001.hpp"
#include "bench/paper_002.hpp"
#include "bench/paper_003.hpp"
#include "bench/paper_004.hpp"
#include "bench/cg/suite.hpp"
#include "bench/trisolve.hpp"
#include "bench/update/suite.hpp"

namespace lacuna::bench {

template <space S>
void run_suite(const rig<S>& r, const host_context& host, const settings& s,
               const std::vector<matrix_source>& sources, const peer_lists<S>& peers, report& out) {
  if (!changes_matrix(s.what) && s.what != suite::amg) introduce(s, peers, out);
  switch (s.what) {
  case suite::add:
  case suite::add_t:
  case suite::transpose:
  case suite::spgemm: return run_matrix_suite(r, host, s, sources, peers, out);
  case suite::trisolve: return run_trisolve(r, host, s, sources, peers, out);
  case suite::update: return run_update(r, host, s, sources, peers, out);
  case suite::cg: return run_cg(r, host, s, sources, peers, out);
  case suite::amg: return run_amg(r, host, s, sources, out);
  case suite::paper_000:
    run_paper_000(r, host, s, sources, out);
    return run_king_amg(r, host, s.size, S == space::device || s.size != size_class::automatic,
                        out);
  case suite::paper_001: return run_paper_001(r, host, s, sources, peers, out);
  case suite::paper_002: return run_paper_002(r, host, s, sources, peers, out);
  case suite::paper_003:
    run_paper_003(r, host, s, sources, peers, out);
    return run_figure_8(r, host, s, out);
  case suite::paper_004: return run_paper_004(r, host, s, sources, peers, out);
  default: return run_products(r, host, s, sources, peers, out);
  }
}

} // namespace lacuna::bench

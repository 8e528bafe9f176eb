// How new entries are written into the rows of a dynamic CSR on the device, once it is decided.
#pragma once

#include "gpu/dynamic_csr.cuh"

namespace lacuna::detail::gpu {

/// What becomes of a row that gets `added` new entries, `before` of the batch's new ones being
/// other rows'; its place is not set yet.
template <class T, class I, class O>
__device__ row_job<I, O> make_job(const batch_arguments<T, I, O>& p, std::int64_t row,
                                  std::int64_t before, std::int64_t added, bool changes,
                                  row_decision& decision) {
  row_job<I, O> job{};
  decision = decide_row(p.m, row, added, changes, p.limits);
  const int count = p.m.counts[row];
  const O size = p.m.sizes[row], more = static_cast<O>(added);
  job.row = static_cast<I>(row);
  job.first_new = static_cast<std::uint32_t>(before);
  job.added = static_cast<std::uint32_t>(added);
  job.change = decision.change;
  job.segments = static_cast<std::uint8_t>(count);
  job.size = size + more;
  job.room = static_cast<O>(decision.places) - more;
  if (decision.change == row_change::in_place) {
    job.from = p.m.first(count - 1, row);
    job.length = p.m.last(count - 1, row) - job.from;
    job.room = p.m.room[row] - more;
  } else if (decision.change == row_change::rewritten) {
    job.length = size;
    job.room -= size;
  }
  return job;
}
/// Entries that are moved or written.
template <class I, class O> __device__ std::int64_t work_of(const row_job<I, O>& job) {
  return job.change == row_change::none ? 0 : std::int64_t{job.length} + job.added;
}
/// Lists the parts of a row that is not short, number t of those that are hit.
template <class T, class I, class O>
__device__ void list_parts(const batch_arguments<T, I, O>& p, const row_job<I, O>& job,
                           std::int64_t t) {
  if (work_of(job) <= short_row) return;
  const auto count = static_cast<unsigned>((work_of(job) + part_entries - 1) / part_entries);
  const unsigned at = atomicAdd(&p.state->parts, count);
  for (unsigned part = 0; part < count; ++part)
    p.parts[at + part] = {static_cast<unsigned>(t), part};
}

/// The table of a row that was hit, once its entries are written.
template <class T, class I, class O>
__device__ void finish_job(const batch_arguments<T, I, O>& p, const row_job<I, O>& job) {
  const dynamic_rows<T, I, O>& m = p.m;
  const std::int64_t row = job.row;
  const O added = static_cast<O>(job.added);
  int segments = job.segments;
  switch (job.change) {
  case row_change::none: return;
  case row_change::in_place: m.last(segments - 1, row) = job.from + job.length + added; break;
  case row_change::new_segment:
    m.first(segments, row) = static_cast<O>(job.place);
    m.last(segments, row) = static_cast<O>(job.place) + added;
    m.counts[row] = static_cast<std::uint8_t>(++segments);
    break;
  case row_change::rewritten:
    m.first(0, row) = static_cast<O>(job.place);
    m.last(0, row) = static_cast<O>(job.place) + job.size;
    m.counts[row] = 1;
    segments = 1;
    break;
  }
  m.room[row] = job.room;
  m.sizes[row] = job.size;
  const auto list = [&](std::int64_t above, I* rows, row_list there, unsigned long long* more) {
    if (job.size - added > above || job.size <= above) return;
    const std::int64_t at = there.count + static_cast<std::int64_t>(atomicAdd(more, 1ull));
    if (at < there.capacity) rows[at] = job.row;
  };
  list(mid_row, m.mid_rows, p.limits.mid_rows, &p.state->mid_rows);
  list(long_row, m.long_rows, p.limits.long_rows, &p.state->long_rows);
  if (segments > *static_cast<volatile int*>(&p.state->segments))
    atomicMax(&p.state->segments, segments);
}

/// New entries into the last segment of a short row, from its end on, four old ones at a time: one
/// moves by as many places as there are new ones before it, and brings those along that come
/// between it and the one before it.
template <class T, class I>
__device__ void insert_in_place(I* old_columns, T* old_values, int length, const I* columns,
                                const T* values, int added, int lane, unsigned group) {
  const auto new_before = [&](I column) {
    int count = 0;
    while (count < added && columns[count] < column) ++count;
    return count;
  };
  int last = added; // new ones that are not yet written
  for (int first = (length - 1) / row_lanes * row_lanes; first >= 0 && last > 0;
       first -= row_lanes) {
    const int e = first + lane;
    const bool here = e < length;
    const I column = here ? old_columns[e] : I{0};
    const T value = here ? old_values[e] : T{0};
    const int shift = here ? new_before(column) : last;
    int below = __shfl_up_sync(group, shift, 1, row_lanes);
    if (lane == 0) below = e == 0 ? 0 : new_before(old_columns[e - 1]);
    __syncwarp(group); // all have read
    if (here && shift > 0) {
      old_columns[e + shift] = column;
      old_values[e + shift] = value;
    }
    // Those that come before this one, and behind the segment's last one.
    const int to = e <= length ? shift : 0;
    for (int j = below; j < to; ++j) {
      old_columns[e + j] = columns[j];
      old_values[e + j] = values[j];
    }
    if (first + row_lanes == length && lane == row_lanes - 1) // no lane is behind the last
      for (int j = shift; j < last; ++j) {
        old_columns[length + j] = columns[j];
        old_values[length + j] = values[j];
      }
    last = __shfl_sync(group, below, 0, row_lanes);
    __syncwarp(group);
  }
  if (length == 0)
    for (int j = lane; j < added; j += row_lanes) {
      old_columns[j] = columns[j];
      old_values[j] = values[j];
    }
}

/// A short row, by four lanes.
template <class T, class I, class O>
__device__ void write_short_row(const batch_arguments<T, I, O>& p, const row_job<I, O>& job,
                                int lane, unsigned group) {
  const dynamic_rows<T, I, O>& m = p.m;
  const I* const columns = p.new_columns + job.first_new;
  const T* const values = p.new_values + job.first_new;
  if (job.change == row_change::new_segment) {
    for (int j = lane; j < static_cast<int>(job.added); j += row_lanes) {
      m.colind[job.place + j] = columns[j];
      m.values[job.place + j] = values[j];
    }
  } else if (job.change == row_change::in_place) {
    insert_in_place(m.colind + job.from, m.values + job.from, static_cast<int>(job.length), columns,
                    values, static_cast<int>(job.added), lane, group);
  } else {
    merge_entries(m, std::int64_t{job.row}, 0, std::int64_t{job.size}, columns, values,
                  std::int64_t{job.added}, m.colind + job.place, m.values + job.place, lane,
                  row_lanes);
    __syncwarp(group); // the table is read by all
  }
  if (lane == 0) finish_job(p, job);
}

/// A part of 4096 entries of a longer row, by a block. The table stays as it is.
template <class T, class I, class O>
__device__ void write_row_part(const batch_arguments<T, I, O>& p, const row_job<I, O>& job,
                               std::int64_t part) {
  __shared__ I old_columns[most_in_place];
  __shared__ T old_values[most_in_place];
  const dynamic_rows<T, I, O>& m = p.m;
  const I* const columns = p.new_columns + job.first_new;
  const T* const values = p.new_values + job.first_new;
  const std::int64_t begin = part * part_entries, added = job.added;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  if (job.change == row_change::new_segment) {
    const std::int64_t end = min(begin + part_entries, added);
    for (std::int64_t j = begin + thread; j < end; j += threads) {
      m.colind[job.place + j] = columns[j];
      m.values[job.place + j] = values[j];
    }
  } else if (job.change == row_change::rewritten) {
    const std::int64_t end = min(begin + part_entries, std::int64_t{job.size});
    merge_entries(m, std::int64_t{job.row}, begin, end, columns, values, added,
                  m.colind + job.place, m.values + job.place, thread, threads);
  } else {
    const std::int64_t from = job.from, length = job.length;
    for (std::int64_t e = thread; e < length; e += threads) {
      old_columns[e] = m.colind[from + e];
      old_values[e] = m.values[from + e];
    }
    __syncthreads();
    for (std::int64_t e = thread; e < length; e += threads) {
      const std::int64_t to = from + e + lower_bound(columns, added, old_columns[e]);
      m.colind[to] = old_columns[e];
      m.values[to] = old_values[e];
    }
    for (std::int64_t j = thread; j < added; j += threads) {
      const std::int64_t to = from + j + not_above(old_columns, length, columns[j]);
      m.colind[to] = columns[j];
      m.values[to] = values[j];
    }
    __syncthreads(); // before the next row's entries
  }
}

} // namespace lacuna::detail::gpu

// Leaves of a block tree cut into pieces, so that a flat leaf of many entries has many warps.
// Entries of a leaf by rows are found from the lengths of its runs: 32 runs, a chunk, are added up
// by a warp, a scan tells where chunks begin, and a chunk with many entries is several pieces.
#pragma once

#include "gpu/add_block_tree.cuh"
#include "gpu/block_tree_frame.cuh"

namespace lacuna::detail::gpu {

/// Of a piece, reasoned: 16 steps of a warp are some microseconds.
constexpr std::int64_t piece_entries = 512;

template <class T, class U, class I>
__device__ leaf_walk<T> walk_item(const tree_arrays<U, I, space::device>& a, std::int64_t item) {
  leaf_walk<T> walk;
  begin_item(walk, a, a.items.data()[item]);
  return walk;
}

/// All pieces of a tree, in the order of its leaves; those behind the last have no leaf. Where all
/// leaves are of the lowest level each is a piece. Scratch: 3.5 bytes an entry where they are not.
/// It does not wait.
template <class T, class I>
array<leaf_piece, space::device> list_pieces(const device_context& ctx,
                                             const tree_arrays<const T, I, space::device>& a) {
  const std::int64_t leaves = a.items.size();
  if (has_lowest_leaves(a)) {
    array<leaf_piece, space::device> pieces(ctx, leaves);
    for_each(ctx, leaves, "block_tree: pieces", [a, to = pieces.data()] __device__(std::int64_t k) {
      to[k] = {k, 0, walk_item<const T>(a, k).entries(), 0, 0};
    });
    return pieces;
  }
  const auto chunks_before = sums_before(ctx, leaves, [a] __device__(std::int64_t k) {
    return walk_item<const T>(a, k).chunks(piece_entries);
  });
  const std::int64_t room = leaves + a.nnz / 32;
  array<leaf_piece, space::device> chunks(ctx, room);
  for_each_leaf(
      ctx, room, "block_tree: chunks",
      [a, leaves, before = chunks_before.data(), to = chunks.data()] __device__(std::int64_t c) {
        leaf_piece chunk{-1, 0, 0, 0, 0};
        if (c < before[leaves]) {
          chunk.leaf = last_of_warp(leaves, [&](std::int64_t k) { return before[k] <= c; });
          const auto walk = walk_item<const T>(a, chunk.leaf);
          chunk.run = 32 * (c - before[chunk.leaf]);
          chunk.end = walk.entries_of_chunk(c - before[chunk.leaf], piece_entries);
        }
        if (threadIdx.x % 32 == 0) to[c] = chunk;
      });
  const auto entries_before = sums_before(
      ctx, room, [chunks = chunks.data()] __device__(std::int64_t c) { return chunks[c].end; });
  const auto pieces_before =
      sums_before(ctx, room, [chunks = chunks.data()] __device__(std::int64_t c) {
        return (chunks[c].end + piece_entries - 1) / piece_entries;
      });
  array<leaf_piece, space::device> pieces(ctx, room + 2 * a.nnz / piece_entries);
  check(cudaMemsetAsync(pieces.data(), 0xff, pieces.bytes(), ctx.stream()), "block_tree: memset");
  for_each_leaf(
      ctx, room, "block_tree: pieces",
      [chunks = chunks.data(), chunks_before = chunks_before.data(),
       entries_before = entries_before.data(), pieces_before = pieces_before.data(),
       to = pieces.data()] __device__(std::int64_t c) {
        const leaf_piece chunk = chunks[c];
        if (chunk.leaf < 0) return;
        const std::int64_t begin = entries_before[c] - entries_before[chunks_before[chunk.leaf]];
        const std::int64_t end = begin + chunk.end, first = pieces_before[c];
        for (std::int64_t p = threadIdx.x % 32; p < pieces_before[c + 1] - first; p += 32) {
          const std::int64_t at = begin + p * piece_entries;
          to[first + p] = {chunk.leaf, at, min(at + piece_entries, end), chunk.run, begin};
        }
      });
  return pieces;
}

} // namespace lacuna::detail::gpu

// Leaves of a block tree cut into pieces, so that a flat leaf of many entries has many warps.
// Entries of a leaf by rows are found from the lengths of its runs: 32 runs, a chunk, are added up
// by a warp, a scan tells where chunks begin, and a chunk with many entries is several pieces.
#pragma once

#include "gpu/add_block_tree.cuh"
#include "gpu/block_tree_frame.cuh"

namespace lacuna::detail::gpu {

/// Of a piece, reasoned: 16 steps of a warp are some microseconds.
constexpr std::int64_t tree_piece_entries = 512;

template <class T, class U, class I>
__device__ leaf_walk<T> walk_item(const tree_arrays<U, I, space::device>& a, std::int64_t item) {
  leaf_walk<T> walk;
  begin_item(walk, a, a.items.data()[item]);
  return walk;
}

/// Of a leaf; so many of its entries are a piece.
struct tree_chunk {
  std::int64_t leaf, number, entries, of_piece;
};

/// All pieces of a tree, in the order of its leaves; those behind the last have no leaf. Each leaf
/// that is not flat is a piece. Scratch: 3.5 bytes an entry where there may be flat ones. It does
/// not wait.
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
    return walk_item<const T>(a, k).chunks(tree_piece_entries);
  });
  const std::int64_t room = leaves + a.nnz / 32;
  array<tree_chunk, space::device> chunks(ctx, room);
  for_each_leaf(
      ctx, room, "block_tree: chunks",
      [a, leaves, before = chunks_before.data(), to = chunks.data()] __device__(std::int64_t c) {
        tree_chunk chunk{-1, 0, 0, 1};
        if (c < before[leaves]) {
          chunk.leaf = last_of_warp(leaves, [&](std::int64_t k) { return before[k] <= c; });
          const auto walk = walk_item<const T>(a, chunk.leaf);
          chunk.number = c - before[chunk.leaf];
          chunk.entries = walk.entries_of_chunk(chunk.number, tree_piece_entries);
          chunk.of_piece = walk.entries_of_piece(tree_piece_entries);
        }
        if (threadIdx.x % 32 == 0) to[c] = chunk;
      });
  const auto entries_before = sums_before(
      ctx, room, [chunks = chunks.data()] __device__(std::int64_t c) { return chunks[c].entries; });
  const auto pieces_before =
      sums_before(ctx, room, [chunks = chunks.data()] __device__(std::int64_t c) {
        return (chunks[c].entries + chunks[c].of_piece - 1) / chunks[c].of_piece;
      });
  array<leaf_piece, space::device> pieces(ctx, room + a.nnz / tree_piece_entries);
  check(cudaMemsetAsync(pieces.data(), 0xff, pieces.bytes(), ctx.stream()), "block_tree: memset");
  for_each_leaf(
      ctx, room, "block_tree: pieces",
      [chunks = chunks.data(), entries_before = entries_before.data(),
       pieces_before = pieces_before.data(), to = pieces.data()] __device__(std::int64_t c) {
        const tree_chunk chunk = chunks[c];
        if (chunk.leaf < 0) return;
        const std::int64_t begin = entries_before[c] - entries_before[c - chunk.number],
                           end = begin + chunk.entries;
        std::int64_t at = begin + threadIdx.x % 32 * chunk.of_piece;
        for (std::int64_t p = pieces_before[c] + threadIdx.x % 32; at < end; p += 32) {
          to[p] = {chunk.leaf, at, min(at + chunk.of_piece, end), 32 * chunk.number, begin};
          at += 32 * chunk.of_piece;
        }
      });
  return pieces;
}

} // namespace lacuna::detail::gpu

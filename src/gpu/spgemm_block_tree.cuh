// The product of two block trees on the device: what its parts hand to one another. Blocks of the
// lowest level alone, as in sums: flat leaves are cut first.
#pragma once

#include "gpu/add_block_tree.cuh"
#include "gpu/block_tree_frame.cuh"

namespace lacuna::detail::gpu {

/// A leaf of an operand, as it is stored.
struct factor_leaf {
  const unsigned char* pool;
  std::uint64_t node;
  std::int32_t rows, cols; ///< inside of the matrix
};

/// Of a row in a leaf: entries of the leaf before it, then so many bits with how many it has.
constexpr int row_count_bits = 9;

/// An operand's leaves by rows, as the product has them, transposed or not, whatever their types
/// are: d x (4 + d / 8) bytes a leaf and a value and a byte an entry.
struct factor_pattern {
  const std::int64_t* first; ///< entries of leaves before each
  std::uint32_t* rows;       ///< of d rows a leaf
  unsigned* marks;           ///< a bit for each place, d / 32 words a row
  unsigned char* cols;       ///< of entries, ascending in a row
};
template <class T> struct factor_lists : factor_pattern { T* values; };

/// filled: rows that have entries, over all leaves, are added to it.
template <class T>
void list_rows_of_leaves(const device_context& ctx, int bits, std::int64_t leaves,
                         const factor_leaf* from, bool transposed, const factor_lists<T>& to,
                         unsigned long long* filled);

/// A leaf of A and one of B that meet: their numbers.
struct met_leaves {
  std::uint32_t a, b;
};
/// Where products fall. Blocks of C, by rows; some have no entry, as leaves may meet in vain.
struct meeting_places {
  factor_pattern a, b;
  const std::int64_t* first_pair; ///< of each block, and one more
  const met_leaves* pairs;        ///< of a block by A's columns
  std::int64_t blocks;
  unsigned* marks;       ///< as those of operands
  std::uint32_t* starts; ///< of each row of a block: entries before it, 2^20 for each run before it
  std::uint32_t* counts; ///< of each block, likewise
  unsigned* filled;      ///< a bit for each row that has entries, d / 32 words a block
};
constexpr int run_shift = 20;
/// Fills marks, starts, counts and filled.
void mark_products(const device_context& ctx, int bits, const meeting_places& c);

/// Leaves of C, and of which blocks they are.
template <class I> struct product_leaves {
  device_leaves<I> leaves;
  array<std::uint32_t, space::device> block;
  std::int64_t entries = 0;
  std::int64_t b_rows = 0; ///< rows that have entries, over B's leaves
};
/// Without leaves where C has no entries, or should have flat leaves. a_row, b_col: of leaves, in
/// blocks; b_rows: what list_rows_of_leaves found.
template <class I>
product_leaves<I> choose_product_leaves(const device_context& ctx, index<I> extent, int bits,
                                        std::int64_t value_bytes, const meeting_places& c,
                                        const I* a_row, const I* b_col,
                                        const unsigned long long* b_rows);

/// A leaf of C.
struct product_leaf {
  std::uint64_t node;
  sum_leaf leaf;
  std::uint32_t block;
  std::uint16_t rows, cols; ///< inside of the matrix
};
template <class T> struct leaf_products {
  factor_lists<T> a, b;
  meeting_places c;
  T alpha;
  const product_leaf* leaves;
  std::int64_t count;
  int bits;
};
/// Writes values and coordinates; the rest of the leaves must be there, zeros where nothing is.
/// row_length: entries of a row of B's leaves on average, which says how many lanes go along it.
template <class T>
void multiply_leaves(const device_context& ctx, const leaf_products<T>& p, double row_length,
                     unsigned char* pool);
/// Thread blocks that multiply_leaves takes for a leaf, at most.
constexpr int most_leaf_blocks = 16;

} // namespace lacuna::detail::gpu

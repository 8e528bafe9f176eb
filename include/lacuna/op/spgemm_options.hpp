// What a caller of a sparse product may ask for, what decides how a device makes it, and what can
// be told of it afterwards.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

#include <cstddef>
#include <cstdint>

namespace lacuna {

/// Where a device's ways of making rows of C change over: `lacuna tune` fits them to a machine.
/// Each leads to the same entries; with `spgemm_order::of_a` to the same bits.
struct spgemm_thresholds {
  /// One thread merges a row of A with at most so many entries (10 at most) and products.
  std::int64_t merged_entries = 10;
  std::int64_t merged_products = 100;
  /// The same where rows are too few to keep a device busy with one thread per row.
  std::int64_t merged_products_of_few = 24;
  /// A row with more products is heavy: it goes by ranges of columns. Fewer where A and B are
  /// small, so that no warp is left alone with a row.
  std::int64_t light_products = 16384;
  /// So do rows of the highest classes of tables, if fewer than this are in them together.
  std::int64_t few_rows = 512;
  /// Fewer rows with tables in all are launched as two classes, small and large; 0: every class is
  /// launched by itself. Where counting needs tables of 2048 keys and more, every class is.
  std::int64_t few_in_all = 65536;
  /// A warp that owns a row takes the products of several rows of B at a time if those are shorter
  /// on the mean.
  std::int64_t flat_length = 20;
  /// Within a range of a heavy row's columns, the same for a block.
  std::int64_t tile_length = 48;
  /// Lanes per row of C; 0: by the lengths of B's rows.
  std::int64_t lanes = 0;
  /// From so many thousand products on, neighbouring rows of A that have one pattern are made
  /// together, if a search for a column then serves `twin_share` products or more on the mean.
  /// Reasoned.
  std::int64_t twin_products = 200;
  std::int64_t twin_share = 3;
  /// From so many thousand products on, matrices whose entries lie on up to 64 diagonals are
  /// multiplied by diagonals, if those have at most `slice_places` places an entry. Reasoned.
  std::int64_t slice_products = 1000;
  std::int64_t slice_places = 2;
  /// From so many thousand products on, matrices that lack no entry are multiplied as dense ones.
  /// Reasoned: a tile of C is a search less for each product.
  std::int64_t dense_products = 50;
  /// Up to so many thousand expected products are made in one pass, with one wait: what they cost
  /// is waiting, not work. 0, none, until `lacuna tune` or a caller says otherwise: it gained on two
  /// of 22 products on an H200.
  std::int64_t one_pass_products = 0;
  /// From so many thousand products on, the second method makes it where a sample of rows has few
  /// products that coincide: `spgemm_method::expand_sort`. H200.
  std::int64_t sorted_products = 48'000;
  /// Rows whose columns lie close together have one bit or slot per column instead of a hash table.
  bool spans = true;
  friend bool operator==(const spgemm_thresholds&, const spgemm_thresholds&) = default;
};

enum class spgemm_method {
  adaptive,   ///< spECK: an accumulator for each class of rows, counted first and then filled. A
              ///< device also goes by groups of rows, by diagonals, by tiles of dense matrices and,
              ///< where few of many products coincide, by sorting; the bits are the same
  expand_sort ///< King 2016: each row's products are expanded, sorted and summed in one pass, in
              ///< A's order. B's rows may have any order; duplicates in them are products of their
              ///< own, which a device's adaptive method adds up first.
};
/// In which order the products of an entry of C are added.
enum class spgemm_order {
  of_a,   ///< that of A's row: bitwise repeatable
  relaxed ///< as they come, on a device with atomics; the bits may differ from run to run
};

/// Seconds of each stage, and what it found. Asking for it makes a device wait between stages.
struct spgemm_report {
  double analyse = 0;       ///< products and spans of rows
  double bin_for_count = 0; ///< rows into classes
  double count = 0;         ///< the symbolic pass
  double allocate = 0;      ///< C's memory, and its row pointers
  double bin_for_fill = 0;
  double fill = 0; ///< the numeric pass, sorting included
  std::int64_t products = 0, entries = 0;
  /// Rows that were filled by threads, from tables, by column ranges, together with neighbours of
  /// the same pattern, by diagonals, as dense ones, and in the one pass of small products (0 on a
  /// host).
  std::int64_t merged_rows = 0, table_rows = 0, heavy_rows = 0, twin_rows = 0, slice_rows = 0,
               dense_rows = 0, one_pass_rows = 0;
  [[nodiscard]] double seconds() const {
    return analyse + bin_for_count + count + allocate + bin_for_fill + fill;
  }
};

struct spgemm_options {
  /// Bytes that result and workspace may take together in the context's space; 0: what is free.
  /// The product is made in parts if it must be.
  std::size_t memory_limit = 0;
  spgemm_method method = spgemm_method::adaptive;
  spgemm_order order = spgemm_order::of_a;
  const spgemm_thresholds* thresholds = nullptr; ///< null: the machine's
  spgemm_report* report = nullptr;               ///< null: nothing is told
};

/// What is known before work begins.
struct spgemm_estimate {
  std::int64_t products = 0;         ///< multiplications; also the most entries C can have
  std::int64_t longest_row = 0;      ///< most products of a row
  std::int64_t most_entries = 0;     ///< of C: products, and at most columns of B in each row
  std::size_t most_result_bytes = 0; ///< of C with that many
};

} // namespace lacuna

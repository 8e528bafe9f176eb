// Journals of matrices on every engine: what was written from one opens there, and on the host, as
// it was.
#include <cstdlib>
#include <filesystem>

#include "support/changes.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class JournalOn : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  template <space S> using matrix_in = dynamic_csr<T, I, O, S>;

  JournalOn() {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~JournalOn() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string folder_;
};
TYPED_TEST_SUITE(JournalOn, few_configs, config_name);

/// Changes of every kind, with checkpoints between them; beside a matrix without a journal.
TYPED_TEST(JournalOn, OpensAsItWas) {
  constexpr space S = TypeParam::memory_space;
  using matrix = typename TestFixture::template matrix_in<S>;
  using host_matrix = typename TestFixture::template matrix_in<space::host>;
  const auto& ctx = TypeParam::context();
  const host_context host({1});
  constexpr io::journal_options unsynced{.sync = io::journal_sync::never};
  matrix plain(ctx, {20, 30});
  io::create_journal(ctx, this->folder_, matrix(ctx, {20, 30}), unsynced);
  for (std::int64_t n = 0; n < 60;) {
    auto m = io::open_journal<matrix>(ctx, this->folder_, unsynced);
    ASSERT_EQ(m.batches(), n);
    for (const std::int64_t end = n + 7; n < end;) {
      make_change(ctx, m, ++n, 200);
      make_change(ctx, plain, n, 200);
    }
    check(ctx, m.matrix());
    ASSERT_TRUE(same_matrix(to_csr(ctx, m.matrix()), copy_to(host, to_csr(ctx, plain)))) << n;
    if (n % 3 == 0) checkpoint(ctx, m);
    EXPECT_THROW(io::open_journal<matrix>(ctx, this->folder_), failed);
  }
  const auto want = copy_to(host, to_csr(ctx, plain));
  EXPECT_TRUE(same_matrix(
      to_csr(host, io::open_journal<host_matrix>(host, this->folder_, unsynced).matrix()), want));
  EXPECT_TRUE(same_matrix(
      to_csr(ctx, io::open_journal<matrix>(ctx, this->folder_, unsynced).matrix()), want));
}

} // namespace
} // namespace lacuna::test

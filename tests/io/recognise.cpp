// Formats are told by their bytes, whatever the name; pipes and devices are read as standard input
// is, and no further than they must be.
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "io/binary.hpp"

namespace lacuna::test {
namespace {

const std::string text = "%%MatrixMarket matrix coordinate real general\n2 3 1\n2 3 1.5\n";

void expect_the_matrix(const std::string& file) {
  SCOPED_TRACE(file);
  const auto a = io::read_csr<double>(host_engine::context(), file);
  ASSERT_EQ(a.size(), 1);
  EXPECT_EQ(a.shape().row, 2);
  EXPECT_EQ(a.shape().col, 3);
  EXPECT_EQ(a.values()[0], 1.5);
}

std::vector<std::string> endings() {
  std::vector<std::string> result = {".mtx", ".rb"};
  if (has_zlib()) result.insert(result.end(), {".mtx.gz", ".npz", ".mat"});
  if (has_zstd()) result.emplace_back(".mtx.zst");
  if (has_hdf5()) result.emplace_back(".bsp.h5");
  return result;
}

TEST(Recognise, ByBytesUnderAnyName) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const auto a = io::read_csr<double>(ctx, folder.with("a.mtx", text));
  for (const std::string& ending : endings()) {
    if (ending == ".rb") continue; // has no sign but its name
    io::write(ctx, folder / ("a" + ending), a);
    const std::string bytes = contents(folder / ("a" + ending));
    for (const std::string name : {"b", "b.mat", "b.mtx", "b.npz", "b.rb", "b.txt", "b.tar.gz"}) {
      if (ending == ".bsp.h5" && name == "b.mat") continue; // HDF5: MATLAB 7.3 by its name
      expect_the_matrix(folder.with(name, bytes));
    }
  }
  expect_refused(folder.with("a.txt", "plain"), "neither its name nor its first bytes");
}

TEST(Recognise, ZstdFramesOfAllKinds) {
  if (!has_zstd()) GTEST_SKIP() << "this build lacks zstd";
  const scratch_folder folder;
  const auto& ctx = host_engine::context();
  io::write(ctx, folder / "a.mtx.zst", io::read_csr<double>(ctx, folder.with("a.mtx", text)));
  const std::string frame = contents(folder / "a.mtx.zst");
  const auto skipped = [](char kind, const std::string& data) {
    return std::string(1, kind) + "\x2a\x4d\x18" +
           byte_of(static_cast<std::uint32_t>(data.size())) + data;
  };
  expect_the_matrix(folder.with("b.mtx.zst", skipped('\x50', "pzst") + frame));
  expect_the_matrix(folder.with("b", skipped('\x5f', "") + frame + skipped('\x51', "behind")));
}

/// A pipe by a name, into which a thread writes the bytes again and again.
class named_pipe {
public:
  named_pipe(std::string path, std::string bytes, bool forever) : path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    writer_ = std::thread([this, bytes = std::move(bytes), forever] {
      const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      do {
        for (std::size_t done = 0; done < bytes.size();) {
          const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
          if (n < 0) { // the reader has seen enough
            ::close(fd);
            return;
          }
          done += static_cast<std::size_t>(n);
          written += n;
        }
      } while (forever);
      ::close(fd);
    });
  }
  named_pipe(const named_pipe&) = delete;
  named_pipe& operator=(const named_pipe&) = delete;
  ~named_pipe() { writer_.join(); }

  std::atomic<std::int64_t> written{0};

private:
  std::string path_;
  std::thread writer_;
};

TEST(Recognise, PipesGiveEveryFormat) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const auto a = io::read_csr<double>(ctx, folder.with("a.mtx", text));
  for (const std::string& ending : endings()) {
    io::write(ctx, folder / ("a" + ending), a);
    const std::string path = folder / ("pipe" + ending);
    const named_pipe pipe(path, contents(folder / ("a" + ending)), false);
    expect_the_matrix(path);
  }
}

TEST(Recognise, EndlessPipesAndDevicesAreBounded) {
  std::signal(SIGPIPE, SIG_IGN);
  const scratch_folder folder;
  const auto& ctx = host_engine::context();
  EXPECT_THROW(io::read<double>(ctx, "/dev/zero"), bad_input);
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    const named_pipe pipe(folder / name, bytes, true);
    EXPECT_THROW(io::read<double>(ctx, folder / name), bad_input) << name;
    EXPECT_LT(pipe.written, std::int64_t{1} << 27) << name;
  };
  const std::string page(1 << 16, '\0');
  refused("unknown", page);
  refused("zeros.mtx", page); // a line without end
  refused("too_many.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n1 1 2\n");
  EXPECT_THROW(io::read<double>(ctx, folder / "absent"), bad_input);
  EXPECT_THROW(io::read<double>(ctx, folder.path()), bad_input);
}

TEST(Recognise, VectorsFromNumpy) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const auto npy = [&](const std::string& shape, const std::string& order = "False") {
    std::string dictionary =
        "{'descr': '<f8', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
    dictionary.resize(117, ' ');
    return std::string("\x93NUMPY\1\0\x76\0", 10) + dictionary + "\n" +
           bytes_of(std::vector<double>{1.5, -0.0, 0, 4});
  };
  for (const std::string shape : {"(4,)", "(4, 1)", "(1, 4)"}) {
    const auto v = io::read_vector<double>(ctx, folder.with("x.npy", npy(shape)));
    ASSERT_EQ(v.size(), 4);
    EXPECT_EQ(v[0], 1.5);
    EXPECT_TRUE(std::signbit(v[1]));
    EXPECT_FALSE(std::signbit(v[2]));
    EXPECT_EQ(v[3], 4);
    EXPECT_EQ(io::read_vector<float>(ctx, folder.with("x", npy(shape)))[3], 4);
  }
  const auto a = io::read_csr<double>(ctx, folder.with("a.npy", npy("(2, 2)", "True")));
  EXPECT_EQ(a.shape().row, 2);
  EXPECT_EQ(a.values()[0], 1.5);
  EXPECT_THROW(io::read_vector<double>(ctx, folder / "a.npy"), bad_input);
  expect_refused(folder.with("b.npy", npy("(5,)")), "has 32 bytes of data, its header asks for 40");
  expect_refused<unsupported>(folder.with("c.npy", npy("(1, 2, 2)")), "3 dimensions");
}

TEST(Recognise, MessagesNameTheFile) {
  const auto& ctx = host_engine::context();
  const scratch_folder folder;
  const std::string wide = folder.with(
      "wide.mtx", "%%MatrixMarket matrix coordinate real general\n3000000000 1 1\n1 1 1\n");
  const auto words = [&](auto read) -> std::string {
    try {
      read();
    } catch (const error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_TRUE(words([&] { io::read_csr<double, int>(ctx, wide); }).starts_with(wide + ": rows"));
  set_allocation_hook([](space, std::size_t bytes) { return bytes < 1 << 20; });
  const std::string short_of_memory = words([&] { io::read<double>(ctx, wide); });
  set_allocation_hook({});
  EXPECT_TRUE(short_of_memory.starts_with(wide + ": ")) << short_of_memory;
  const auto a = io::read_csr<double>(ctx, folder.with("a.mtx", text));
  EXPECT_TRUE(words([&] {
                io::write(ctx, folder / "i.mtx", a, {.values = io::field::integer});
              }).starts_with(folder / "i.mtx: value 1.5"));
  EXPECT_TRUE(words([&] {
                io::write(ctx, folder / "s.mtx", a, {.structure = io::symmetry::symmetric});
              }).starts_with(folder / "s.mtx: "));
}

} // namespace
} // namespace lacuna::test

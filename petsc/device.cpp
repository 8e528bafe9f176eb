#include "device.hpp"

#include <charconv>
#include <map>
#include <string_view>

namespace lacuna::petsc {
namespace {

PetscMPIInt rank_in_node = 0, ranks_in_node = 1;

/// Never destroyed itself: PETSc may be finalized when a program's static objects are gone.
std::map<int, std::shared_ptr<rank_device>>& made_devices() {
  static auto* const made = new std::map<int, std::shared_ptr<rank_device>>;
  return *made;
}

/// Entries from which on -lacuna_device auto takes a device: some 30 us for copies and launches are
/// what a core takes for as many. Reasoned, not measured.
constexpr std::int64_t least_entries = 100'000;

/// Memory, used or freed, beyond which the ranks of a device together give back what is freed.
/// Mapping it again costs 1.4 ms per GB (an H200), so a good part of a hierarchy's set-up should be
/// kept; other ranks' need not wait for it.
constexpr double kept_together = 8.0 * (1 << 30);

std::size_t kept_bytes(const settings& s, int sharing) {
  if (s.pool_limit >= 0) return static_cast<std::size_t>(s.pool_limit * (1 << 20));
  return static_cast<std::size_t>(kept_together / sharing);
}

/// The number behind "cuda:"; -1 if there is none, or more than that.
int number_in(std::string_view device) {
  if (!device.starts_with("cuda:")) return -1;
  int number = -1;
  const char* const end = device.data() + device.size();
  return std::from_chars(device.data() + 5, end, number).ptr == end ? number : -1;
}

} // namespace

PetscErrorCode find_place_in_node() {
  PetscFunctionBegin;
  MPI_Comm node = MPI_COMM_NULL;
  PetscCallMPI(
      MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_rank(node, &rank_in_node));
  PetscCallMPI(MPI_Comm_size(node, &ranks_in_node));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscFunctionReturn(0);
}

PetscErrorCode forget_devices() {
  PetscFunctionBegin;
  made_devices().clear();
  PetscFunctionReturn(0);
}

PetscErrorCode find_device(const settings& s, std::int64_t entries,
                           std::shared_ptr<rank_device>& device) {
  PetscFunctionBegin;
  device = nullptr;
  if (s.device == "host" || s.device == "cpu") PetscFunctionReturn(0);
  const int devices = device_count(), named = number_in(s.device);
  if (s.device == "auto" && (devices == 0 || entries < least_entries)) PetscFunctionReturn(0);
  PetscCheck(s.device == "auto" || s.device == "cuda" || named >= 0, PETSC_COMM_SELF,
             PETSC_ERR_USER_INPUT, "-lacuna_device %s: auto, host, cuda or cuda:N it may be",
             s.device.c_str());
  PetscCheck(built_with_cuda(), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "-lacuna_device %s: this Lacuna was built without CUDA", s.device.c_str());
  PetscCheck(devices > 0, PETSC_COMM_SELF, PETSC_ERR_GPU,
             "-lacuna_device %s: no CUDA device was found", s.device.c_str());
  PetscCheck(named < devices, PETSC_COMM_SELF, PETSC_ERR_GPU,
             "-lacuna_device %s: the last device found is cuda:%d", s.device.c_str(), devices - 1);
  // Those of a node in turn, one after the other.
  const int number = named >= 0 ? named : rank_in_node % devices;
  const int sharing = named >= 0 ? ranks_in_node : (ranks_in_node + devices - 1) / devices;
  std::shared_ptr<rank_device>& made = made_devices()[number];
  if (made == nullptr)
    made = std::make_shared<rank_device>(
        device_options{.device = number, .kept_bytes = kept_bytes(s, sharing)});
  device = made;
  PetscFunctionReturn(0);
}

} // namespace lacuna::petsc

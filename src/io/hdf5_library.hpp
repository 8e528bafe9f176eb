// HDF5's functions and types, from the library that is loaded when the first file needs it: a
// program that reads no such file is spared HDF5 and all that it brings (curl, ldap, krb5). What is
// declared here hides HDF5's own declarations in this namespace.
#pragma once

#ifdef LACUNA_HAS_HDF5

#include <string>

#include <hdf5.h>

// The name that is loaded says which binary interface it has. HDF5's own check would end the
// process.
#undef H5CHECK
#define H5CHECK

#define LACUNA_HDF5_FUNCTIONS(F)                                                                   \
  F(H5open)                                                                                        \
  F(H5free_memory)                                                                                 \
  F(H5Acreate2)                                                                                    \
  F(H5Aexists)                                                                                     \
  F(H5Aget_space)                                                                                  \
  F(H5Aget_type)                                                                                   \
  F(H5Aopen)                                                                                       \
  F(H5Aread)                                                                                       \
  F(H5Awrite)                                                                                      \
  F(H5Dcreate2)                                                                                    \
  F(H5Dget_create_plist)                                                                           \
  F(H5Dget_offset)                                                                                 \
  F(H5Dget_space)                                                                                  \
  F(H5Dget_storage_size)                                                                           \
  F(H5Dget_type)                                                                                   \
  F(H5Dread)                                                                                       \
  F(H5Dwrite)                                                                                      \
  F(H5Eclear2)                                                                                     \
  F(H5Eget_auto2)                                                                                  \
  F(H5Eset_auto2)                                                                                  \
  F(H5Ewalk2)                                                                                      \
  F(H5Fcreate)                                                                                     \
  F(H5Fflush)                                                                                      \
  F(H5Fopen)                                                                                       \
  F(H5Gcreate2)                                                                                    \
  F(H5Gget_info)                                                                                   \
  F(H5Idec_ref)                                                                                    \
  F(H5Iget_type)                                                                                   \
  F(H5Lexists)                                                                                     \
  F(H5Lget_info)                                                                                   \
  F(H5Lget_name_by_idx)                                                                            \
  F(H5Oopen)                                                                                       \
  F(H5Pcreate)                                                                                     \
  F(H5Pget_chunk)                                                                                  \
  F(H5Pget_external_count)                                                                         \
  F(H5Pget_layout)                                                                                 \
  F(H5Pset_fapl_core)                                                                              \
  F(H5Pset_file_image)                                                                             \
  F(H5Pset_file_image_callbacks)                                                                   \
  F(H5Pset_userblock)                                                                              \
  F(H5Screate)                                                                                     \
  F(H5Screate_simple)                                                                              \
  F(H5Sget_simple_extent_dims)                                                                     \
  F(H5Sget_simple_extent_ndims)                                                                    \
  F(H5Sget_simple_extent_npoints)                                                                  \
  F(H5Sget_simple_extent_type)                                                                     \
  F(H5Tcopy)                                                                                       \
  F(H5Tequal)                                                                                      \
  F(H5Tget_class)                                                                                  \
  F(H5Tget_member_offset)                                                                          \
  F(H5Tget_member_type)                                                                            \
  F(H5Tget_nmembers)                                                                               \
  F(H5Tget_size)                                                                                   \
  F(H5Tget_super)                                                                                  \
  F(H5Tis_variable_str)                                                                            \
  F(H5Tset_size)

#define LACUNA_HDF5_IDS(F)                                                                         \
  F(H5P_CLS_FILE_ACCESS_ID_g)                                                                      \
  F(H5P_CLS_FILE_CREATE_ID_g)                                                                      \
  F(H5T_C_S1_g)                                                                                    \
  F(H5T_IEEE_F32BE_g)                                                                              \
  F(H5T_IEEE_F32LE_g)                                                                              \
  F(H5T_IEEE_F64BE_g)                                                                              \
  F(H5T_IEEE_F64LE_g)                                                                              \
  F(H5T_NATIVE_DOUBLE_g)                                                                           \
  F(H5T_NATIVE_FLOAT_g)                                                                            \
  F(H5T_NATIVE_INT8_g)                                                                             \
  F(H5T_NATIVE_INT64_g)                                                                            \
  F(H5T_NATIVE_UINT32_g)                                                                           \
  F(H5T_NATIVE_UINT64_g)                                                                           \
  F(H5T_STD_I8BE_g)                                                                                \
  F(H5T_STD_I8LE_g)                                                                                \
  F(H5T_STD_I16BE_g)                                                                               \
  F(H5T_STD_I16LE_g)                                                                               \
  F(H5T_STD_I32BE_g)                                                                               \
  F(H5T_STD_I32LE_g)                                                                               \
  F(H5T_STD_I64BE_g)                                                                               \
  F(H5T_STD_I64LE_g)                                                                               \
  F(H5T_STD_U8BE_g)                                                                                \
  F(H5T_STD_U8LE_g)                                                                                \
  F(H5T_STD_U16BE_g)                                                                               \
  F(H5T_STD_U16LE_g)                                                                               \
  F(H5T_STD_U32BE_g)                                                                               \
  F(H5T_STD_U32LE_g)                                                                               \
  F(H5T_STD_U64BE_g)                                                                               \
  F(H5T_STD_U64LE_g)

namespace lacuna::io {

/// Loads the library, once in a process; nothing below may be used before. Throws unsupported with
/// the name of the file that needs it and the reason.
void load_hdf5(const std::string& file);

#define LACUNA_DECLARE(name) extern decltype(&::name) name;
LACUNA_HDF5_FUNCTIONS(LACUNA_DECLARE)
#undef LACUNA_DECLARE
#define LACUNA_DECLARE(name) extern hid_t name;
LACUNA_HDF5_IDS(LACUNA_DECLARE)
#undef LACUNA_DECLARE

} // namespace lacuna::io

#endif

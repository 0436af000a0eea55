/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI, as the library refers to it. All references are weak: the library may be preloaded into a
 * program that has no MPI, or that loads its MPI later.
 */
#ifndef RI_WIN_WEAK_MPI_H
#define RI_WIN_WEAK_MPI_H

#include <mpi.h>

#pragma weak PMPI_Abort
#pragma weak PMPI_Allgather
#pragma weak PMPI_Allreduce
#pragma weak PMPI_Bcast
#pragma weak PMPI_Comm_dup
#pragma weak PMPI_Comm_set_errhandler
#pragma weak PMPI_Finalized
#pragma weak PMPI_Get_version
#pragma weak PMPI_Comm_get_attr
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Group_excl
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Info_get
#pragma weak PMPI_Info_set
#pragma weak PMPI_Initialized
#pragma weak PMPI_Iprobe
#pragma weak PMPI_Isend
#pragma weak PMPI_Pack
#pragma weak PMPI_Reduce_local
#pragma weak PMPI_Request_free
#pragma weak PMPI_Send_init
#pragma weak PMPI_Type_create_keyval
#pragma weak PMPI_Type_free
#pragma weak PMPI_Type_get_attr
#pragma weak PMPI_Type_get_contents
#pragma weak PMPI_Type_get_envelope
#pragma weak PMPI_Type_get_extent
#pragma weak PMPI_Type_get_extent_x
#pragma weak PMPI_Type_get_true_extent_x
#pragma weak PMPI_Type_set_attr
#pragma weak PMPI_Type_size
#pragma weak PMPI_Type_size_x
#pragma weak PMPI_Unpack
#pragma weak PMPI_Win_call_errhandler

#if MPI_VERSION >= 4
#pragma weak PMPI_Type_get_contents_c
#pragma weak PMPI_Type_get_envelope_c
#endif

/* Handles are addresses of objects in Open MPI */
#ifdef OPEN_MPI
#pragma weak ompi_mpi_2int
#pragma weak ompi_mpi_aint
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_c_bool
#pragma weak ompi_mpi_c_double_complex
#pragma weak ompi_mpi_c_float_complex
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_character
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_count
#pragma weak ompi_mpi_cplex
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_dblcplex
#pragma weak ompi_mpi_dblprec
#pragma weak ompi_mpi_double
#pragma weak ompi_mpi_double_int
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_mpi_float
#pragma weak ompi_mpi_float_int
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_int16_t
#pragma weak ompi_mpi_int32_t
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_mpi_int8_t
#pragma weak ompi_mpi_integer
#pragma weak ompi_mpi_integer1
#pragma weak ompi_mpi_integer2
#pragma weak ompi_mpi_integer4
#pragma weak ompi_mpi_integer8
#pragma weak ompi_mpi_logical
#pragma weak ompi_mpi_long
#pragma weak ompi_mpi_long_double
#pragma weak ompi_mpi_long_int
#pragma weak ompi_mpi_long_long_int
#pragma weak ompi_mpi_offset
#pragma weak ompi_mpi_op_band
#pragma weak ompi_mpi_op_bor
#pragma weak ompi_mpi_op_bxor
#pragma weak ompi_mpi_op_land
#pragma weak ompi_mpi_op_lor
#pragma weak ompi_mpi_op_lxor
#pragma weak ompi_mpi_op_max
#pragma weak ompi_mpi_op_maxloc
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_op_minloc
#pragma weak ompi_mpi_op_no_op
#pragma weak ompi_mpi_op_prod
#pragma weak ompi_mpi_op_replace
#pragma weak ompi_mpi_op_sum
#pragma weak ompi_mpi_packed
#pragma weak ompi_mpi_real
#pragma weak ompi_mpi_real4
#pragma weak ompi_mpi_real8
#pragma weak ompi_mpi_short
#pragma weak ompi_mpi_short_int
#pragma weak ompi_mpi_signed_char
#pragma weak ompi_mpi_uint16_t
#pragma weak ompi_mpi_uint32_t
#pragma weak ompi_mpi_uint64_t
#pragma weak ompi_mpi_uint8_t
#pragma weak ompi_mpi_unsigned
#pragma weak ompi_mpi_unsigned_char
#pragma weak ompi_mpi_unsigned_long
#pragma weak ompi_mpi_unsigned_long_long
#pragma weak ompi_mpi_unsigned_short
#pragma weak ompi_mpi_wchar
#pragma weak ompi_mpi_win_null
#endif

#endif

/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The one-sided operations of MPI, in the place of the MPI's own. Each has two names: Fortran
 * programs and tools reach the MPI by that of the profiling interface.
 */
#include "op_call.h"
#include "entry.h"

#define BUFFER(_of) \
    ((ri_call_buffer_t){_of##_addr, (MPI_Aint)_of##_count, _of##_datatype})
#define TARGET \
    ((ri_call_target_t){target_rank, target_disp, (MPI_Aint)target_count, \
                        target_datatype})

#define ENTRY_MOVE(_name, _call, _const, _count) \
    RI_ENTRY(_name, \
             (_const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Win win), \
             (origin_addr, origin_count, origin_datatype, target_rank, target_disp, \
              target_count, target_datatype, win), \
             _call(window, BUFFER(origin), TARGET))

#define ENTRY_RMOVE(_name, _call, _const, _count) \
    RI_ENTRY(_name, \
             (_const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Win win, \
              MPI_Request *request), \
             (origin_addr, origin_count, origin_datatype, target_rank, target_disp, \
              target_count, target_datatype, win, request), \
             ri_call_request(window, target_rank, _call(window, BUFFER(origin), TARGET), \
                             request))

#define ENTRY_ACCUMULATE(_name, _count) \
    RI_ENTRY(_name, \
             (const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Op op, \
              MPI_Win win), \
             (origin_addr, origin_count, origin_datatype, target_rank, target_disp, \
              target_count, target_datatype, op, win), \
             ri_call_accumulate(window, BUFFER(origin), NULL, TARGET, op))

#define ENTRY_RACCUMULATE(_name, _count) \
    RI_ENTRY(_name, \
             (const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, \
              MPI_Request *request), \
             (origin_addr, origin_count, origin_datatype, target_rank, target_disp, \
              target_count, target_datatype, op, win, request), \
             ri_call_request( \
                     window, target_rank, \
                     ri_call_accumulate(window, BUFFER(origin), NULL, TARGET, op), \
                     request))

#define ENTRY_GET_ACCUMULATE(_name, _count) \
    RI_ENTRY(_name, \
             (const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, void *result_addr, _count result_count, \
              MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Op op, \
              MPI_Win win), \
             (origin_addr, origin_count, origin_datatype, result_addr, result_count, \
              result_datatype, target_rank, target_disp, target_count, target_datatype, \
              op, win), \
             ri_call_accumulate(window, BUFFER(origin), &BUFFER(result), TARGET, op))

#define ENTRY_RGET_ACCUMULATE(_name, _count) \
    RI_ENTRY(_name, \
             (const void *origin_addr, _count origin_count, \
              MPI_Datatype origin_datatype, void *result_addr, _count result_count, \
              MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, \
              _count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, \
              MPI_Request *request), \
             (origin_addr, origin_count, origin_datatype, result_addr, result_count, \
              result_datatype, target_rank, target_disp, target_count, target_datatype, \
              op, win, request), \
             ri_call_request(window, target_rank, \
                             ri_call_accumulate(window, BUFFER(origin), &BUFFER(result), \
                                                TARGET, op), \
                             request))

/* Each of them, with counts of one type; the names end alike. */
#define ENTRY_COUNTED(_end, _count) \
    ENTRY_MOVE(Put##_end, ri_call_put, const, _count) \
    ENTRY_MOVE(Get##_end, ri_call_get, , _count) \
    ENTRY_RMOVE(Rput##_end, ri_call_put, const, _count) \
    ENTRY_RMOVE(Rget##_end, ri_call_get, , _count) \
    ENTRY_ACCUMULATE(Accumulate##_end, _count) \
    ENTRY_RACCUMULATE(Raccumulate##_end, _count) \
    ENTRY_GET_ACCUMULATE(Get_accumulate##_end, _count) \
    ENTRY_RGET_ACCUMULATE(Rget_accumulate##_end, _count)

ENTRY_COUNTED(, int)
#if MPI_VERSION >= 4
ENTRY_COUNTED(_c, MPI_Count)
#endif

RI_ENTRY(Fetch_and_op,
         (const void *origin_addr, void *result_addr, MPI_Datatype datatype,
          int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win),
         (origin_addr, result_addr, datatype, target_rank, target_disp, op, win),
         ri_call_accumulate(window, (ri_call_buffer_t){origin_addr, 1, datatype},
                            &(ri_call_buffer_t){result_addr, 1, datatype},
                            (ri_call_target_t){target_rank, target_disp, 1, datatype},
                            op))

RI_ENTRY(Compare_and_swap,
         (const void *origin_addr, const void *compare_addr, void *result_addr,
          MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win),
         (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp,
          win),
         ri_call_compare_and_swap(window, origin_addr, compare_addr, result_addr,
                                  (ri_call_target_t){target_rank, target_disp, 1,
                                                     datatype}))

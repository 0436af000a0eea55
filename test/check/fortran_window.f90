! Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause
!
! A window of MPI in Fortran, whose functions reach the MPI in other ways than those of C: put,
! accumulate, fetch_and_op under a lock, and the size. Each rank prints PASS or FAIL.
program fortran_window
    use mpi
    use iso_c_binding
    implicit none
    integer :: ierr, rank, ranks, win, mine, left, fetched
    integer(kind=MPI_ADDRESS_KIND) :: length, disp, seen
    type(c_ptr) :: base
    integer, pointer :: memory(:)
    logical :: flag, is_right

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    length = 4000
    call MPI_Win_allocate(length, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
    call c_f_pointer(base, memory, [1000])
    memory = 0
    mine = rank + 100
    left = mod(rank + ranks - 1, ranks) + 100
    call MPI_Win_fence(0, win, ierr)
    disp = 7
    call MPI_Put(mine, 1, MPI_INTEGER, mod(rank + 1, ranks), disp, 1, MPI_INTEGER, win, ierr)
    disp = 8
    call MPI_Accumulate(mine, 1, MPI_INTEGER, mod(rank + 1, ranks), disp, 1, MPI_INTEGER, MPI_SUM, &
                        win, ierr)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    is_right = memory(8) == left .and. memory(9) == left
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr)
    call MPI_Fetch_and_op(mine, fetched, MPI_INTEGER, rank, disp, MPI_SUM, win, ierr)
    call MPI_Win_unlock(rank, win, ierr)
    is_right = is_right .and. fetched == left
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, seen, flag, ierr)
    is_right = is_right .and. flag .and. seen == length
    call MPI_Win_free(win, ierr)
    if (is_right) then
        print '(a, i0)', 'PASS fortran_window rank ', rank
    else
        print '(a, i0)', 'FAIL fortran_window rank ', rank
    end if
    call MPI_Finalize(ierr)
end program

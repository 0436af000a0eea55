/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Headers of src/win for C++ sources, with MPICH's mpi.h: its handles are numbers, so nothing of the MPI
 * has to be there. */

#ifndef RI_TEST_WIN_CPP_H
#define RI_TEST_WIN_CPP_H

#include "unit/common/ri_cpp.h"

#if HAVE_WIN_MPICH

/* MPICH's classes of C++ need its library */
#define MPICH_SKIP_MPICXX 1
#define _Alignas alignas

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

extern "C" {
#include "win/rank_command.h"
#include "win/element.h"
#include "win/epoch.h"
#include "win/remote.h"
#include "win/setting.h"
#include "win/stripe.h"
#include "win/window.h"
}

#pragma GCC diagnostic pop

#endif

#endif

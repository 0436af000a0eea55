/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The part that this library puts in front of the worker addresses that applications exchange.
 * (protocol.md section 2)
 */
#ifndef RI_WIRE_ADDRESS_H
#define RI_WIRE_ADDRESS_H

#include <assert.h>
#include <stdint.h>

#include <ucs/type/status.h>

#include "../../uct/shm/host.h"

/*
 * In front of a worker's stock address. To a stock UCX, the first ten bytes are a complete
 * address that offers no transport: creating an endpoint to it fails at once with
 * UCS_ERR_UNREACHABLE, instead of connecting to a worker that speaks another protocol.
 */
typedef struct ri_wire_address {
    uint8_t stock_header; /* 0: stock address format version 1, no flags */
    uint64_t uid;         /* of the worker, where stock has it too */
    uint8_t stock_end;    /* 0xff: no devices */
    uint64_t magic;       /* RI_WIRE_ADDRESS_MAGIC */
    uint8_t version;      /* RI_WIRE_VERSION */
    uint8_t length;       /* of this structure; the stock address follows */
    uint16_t am_id;       /* 1 + the active message id that the worker takes messages by;
                             0: that of whoever reads this */
    uint16_t rank;        /* 1 + the rank of the process in its job, for people;
                             0: not known, or above RI_WIRE_RANK_MAX */
    ri_host_process_t process; /* the process that has the worker */
    uint32_t window_job;  /* the job in which the process takes windows of MPI; 0: none */
    uint32_t window_rank; /* its rank in MPI_COMM_WORLD of that job */
} __attribute__((packed)) ri_wire_address_t;

#define RI_WIRE_ADDRESS_MAGIC 0x524441495258435ful /* "_CXRIADR" */

static_assert(sizeof(ri_wire_address_t) == 48, "wire format");

/* A worker's description of itself, in its address and in hellos. */
typedef struct ri_wire_worker {
    uint64_t uid;   /* 0: not known */
    uint16_t am_id; /* 1 + the id that it takes active messages by; 0: not known */
    uint16_t rank;  /* 1 + the rank of its process, for people; 0: not known */
} ri_wire_worker_t;

/* The highest active message id that an address can tell. */
#define RI_WIRE_AM_ID_MAX (UINT16_MAX - 1)

/* The highest rank that an address can tell. */
#define RI_WIRE_RANK_MAX (UINT16_MAX - 1)

/** @return What stands in an address for @a rank in a job; a negative rank is not known. */
static inline uint16_t ri_wire_address_rank(long rank)
{
    return ((rank >= 0) && (rank <= RI_WIRE_RANK_MAX)) ? rank + 1 : 0;
}

/**
 * Look for this library's part in front of a worker address.
 *
 * @param address   An address as an application hands it over; its length is not known.
 * @param stock     Set to the stock address within @a address, whatever is returned.
 * @param worker    Set to what that part says of the worker, if there is one; else left as it is.
 *                  Its am_id and rank are 0 if it is of another version.
 *
 * @return UCS_OK, UCS_ERR_NO_ELEM for a plain stock address, UCS_ERR_UNSUPPORTED for another wire
 *         version.
 */
ucs_status_t ri_wire_address_parse(const void *address, const void **stock,
                                   ri_wire_worker_t *worker);

/* Which windows of MPI a process takes, with libraries of this package. */
typedef struct ri_wire_windows {
    uint32_t job; /* a number of the job; 0: it takes none */
    uint32_t rank;
} ri_wire_windows_t;

/** @return What an address for which ri_wire_address_parse() has returned UCS_OK says of windows.
 * Nothing of it was checked. */
ri_wire_windows_t ri_wire_address_windows(const void *address);

/** @return The process that has the worker of an address for which ri_wire_address_parse() has
 * returned UCS_OK; host is 0 if the address does not say. Nothing of it was checked: there may be
 * no such process. */
ri_host_process_t ri_wire_address_process(const void *address);

/** Write this library's part of the address of @a worker. Its process and windows are left 0, for
 * the caller to set. */
void ri_wire_address_pack(ri_wire_address_t *prefix, const ri_wire_worker_t *worker);

#endif

/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SH_PAGES_H_
#define SH_PAGES_H_

/*
 * Whether the memory of a region still has the pages that it had when it was registered
 * (SOFTHCA_PAGES=check). An adapter reads and writes those pages, whatever the program has made of
 * the addresses since; this device copies by address, and would hide the mistake. The pages are
 * held, as an adapter's driver holds them, so that none of them changes for another reason, or
 * comes back in another place.
 */
#include <stddef.h>

typedef struct sh_pages sh_pages_t;

/** The first device is opened: find out whether pages can be compared here. If they are to be and
 * cannot, a line on stderr says why, and nobody looks. */
void sh_pages_start(void);

/** Forget all: the process is a child, or begins anew. */
void sh_pages_stop(void);

/**
 * Hold the pages of a region and take down which they are.
 * @param pages Set to that, or to NULL if nobody looks.
 * @return 0, or an errno value.
 */
int sh_pages_hold(void *addr, size_t length, sh_pages_t **pages);

/**
 * Let go of them.
 * @param pages May be NULL.
 * @param own   They are held for this process, and not for its parent.
 */
void sh_pages_release(sh_pages_t *pages, int own);

/**
 * Compare the pages of a part of a region. If they are other ones, a line on stderr says so.
 * @return @a memory, or if it has other pages memory of the region's own: what is written there is
 *         not seen by the program, and what is read there is not the program's.
 */
void *sh_pages_check(sh_pages_t *pages, void *memory, size_t length);

#endif

/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The library's internal headers for C++ sources. They are C11; what C++17 lacks of that is
 * C's atomics, so C++'s take their place. The layout is the same, which is asserted.
 */
#ifndef RI_CPP_H
#define RI_CPP_H

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <ucs/datastruct/list.h>

/* The guards of <stdatomic.h> of gcc and of clang: it must not be read */
#define _STDATOMIC_H
#define __CLANG_STDATOMIC_H
#define _Atomic(_type) std::atomic<_type>

/* A name like any other in C */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define class class_

/* Macros of UCS's list use a keyword that exists in GNU C only */
#ifndef typeof
#define typeof __typeof__
#endif

using std::atomic_compare_exchange_strong;
using std::atomic_compare_exchange_strong_explicit;
using std::atomic_fetch_add_explicit;
using std::atomic_fetch_or_explicit;
using std::atomic_load_explicit;
using std::atomic_store_explicit;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

/* C says that what an initialiser leaves out is zero, and so do the headers */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

extern "C" {
#include "ucp/core/types/types.h"
#include "ucp/run/close.h"
#include "ucp/core/settings/config.h"
#include "ucp/core/types/handler.h"
#include "ucp/core/settings/config_table.h"
#include "ucp/core/conn.h"
#include "ucp/core/context.h"
#include "ucp/core/settings/costs.h"
#include "ucp/core/notes/counters.h"
#include "ucp/run/ep_op.h"
#include "ucp/run/flush.h"
#include "ucp/core/rma_order.h"
#include "ucp/rma/describe.h"
#include "ucp/rma/mail.h"
#include "ucp/rma/mail_parts.h"
#include "ucp/rma/mail_queue.h"
#include "ucp/rma/reach.h"
#include "ucp/rma/reach_copy.h"
#include "ucp/rma/region.h"
#include "ucp/rma/rkey.h"
#include "ucp/rma/serve.h"
#include "ucp/rma/window_memory.h"
#include "ucp/rma/window_net.h"
#include "ucp/rma/window_net_message.h"
#include "ucp/rma/window_ranks.h"
#include "ucp/rma/word.h"
#include "ucp/link/gone.h"
#include "ucp/core/memory.h"
#include "ucp/core/msg.h"
#include "ucp/core/peer_name.h"
#include "ucp/core/types/request.h"
#include "ucp/core/notes/trace.h"
#include "ucp/core/worker.h"
#include "ucp/run/worker_counters.h"
#include "ucp/run/worker_life.h"
#include "ucp/run/worker_progress.h"
#include "ucp/dt/dt.h"
#include "ucp/dt/layout.h"
#include "ucp/dt/layout_copy.h"
#include "ucp/link/am.h"
#include "ucp/proto/rndv/am_rndv.h"
#include "ucp/link/bounce.h"
#include "ucp/link/control.h"
#include "ucp/proto/coop/coop.h"
#include "ucp/proto/coop/coop_recv.h"
#include "ucp/proto/coop/coop_methods.h"
#include "ucp/core/exchange.h"
#include "ucp/core/row.h"
#include "ucp/proto/coop/coop_send.h"
#include "ucp/proto/pool/pool_send.h"
#include "ucp/link/keys.h"
#include "ucp/link/local.h"
#include "ucp/link/planes.h"
#include "ucp/link/way.h"
#include "ucp/link/way_idle.h"
#include "ucp/link/way_open.h"
#include "ucp/link/net_transfer.h"
#include "ucp/link/release.h"
#include "ucp/link/pool.h"
#include "ucp/link/ring_life.h"
#include "ucp/proto/rndv/rndv.h"
#include "ucp/proto/rndv/rndv_recv.h"
#include "ucp/proto/rtr/rtr_send_host.h"
#include "ucp/proto/rtr/rtr.h"
#include "ucp/link/quiesce.h"
#include "ucp/proto/select.h"
#include "ucp/proto/select_why.h"
#include "ucp/order/assembly.h"
#include "ucp/order/deliver.h"
#include "ucp/order/deliver_known.h"
#include "ucp/in/am_in.h"
#include "ucp/in/channel_in.h"
#include "ucp/in/ring_in.h"
#include "ucp/match/match.h"
#include "ucp/tag/recv.h"
#include "ucp/tag/send_fast.h"
#include "ucp/tag/send_host.h"
#include "ucs/tag_index.h"
#include "ucp/wire/rkey.h"
#include "ucp/wire/wire.h"
#include "ucs/clock.h"
#include "ucs/copy.h"
#include "ucs/handle_map.h"
#include "ucs/id_table.h"
#include "ucs/interval_tree.h"
#include "ucs/log.h"
#include "ucs/output.h"
#include "ucs/process.h"
#include "ucs/stock.h"
#include "uct/cma/cma.h"
#include "uct/ib/device/filter.h"
#include "uct/ib/device/mem_events.h"
#include "uct/ib/device/presence.h"
#include "uct/ib/device/range_queue.h"
#include "uct/ib/device/reg_cache.h"
#include "uct/shm/gate.h"
#include "uct/shm/host.h"
#include "uct/shm/mailbox.h"
#include "uct/shm/mapping.h"
#include "uct/shm/ring.h"
#include "uct/shm/ring_parts.h"
#include "uct/shm/shared_file.h"
#include "uct/shm/shelf.h"
#include "uct/shm/slot.h"
}

#pragma GCC diagnostic pop
#undef class

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "layout of atomics");
static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t), "layout of atomics");
static_assert(sizeof(std::atomic<void *>) == sizeof(void *), "layout of atomics");

#endif

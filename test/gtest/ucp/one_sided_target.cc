/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Both sides of the channel: the class target is in the second process, one_sided_target in the
 * test's process. A command is a few words, and the target answers each one. After "look" the
 * target waits for the next command in a loop of progress, after "compute" in a read of the
 * channel, so that nothing of UCX runs. The origin progresses its worker while it waits for an
 * answer, but not while it waits for a key. Memory that both have is a memfd, which the origin
 * opens below /proc/PID/fd of the target.
 */

#include "one_sided_target.h"
#include "counter.h"

#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace ucp_test {
namespace {

entity_params one_sided_params(bool has_messages)
{
    entity_params params;

    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    if (has_messages) {
        params.features |= UCP_FEATURE_TAG;
    }
    return params;
}

/* For the target: what it is to have. */
std::string use_name(const one_sided_use &use)
{
    return std::string((use.kind == memory_kind::SHARED) ? "shared" : "own") +
           (use.has_messages ? "+messages" : "");
}

bool has(const std::string &arg, const char *what)
{
    return arg.find(what) != std::string::npos;
}

/* The memory of the target, in the target. */
class window {
public:
    static constexpr size_t SIZE = one_sided_target::SIZE;

    window(ucp_context_h context, bool shared) : m_context(context)
    {
        ucp_mem_map_params_t params = {};
        int flags                   = shared ? MAP_SHARED : (MAP_PRIVATE | MAP_ANONYMOUS);

        if (shared) {
            m_fd = memfd_create("window", MFD_CLOEXEC);
            EXPECT_EQ(0, ftruncate(m_fd, SIZE));
        }
        m_bytes = static_cast<char *>(
                mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, flags, m_fd, 0));
        memset(m_bytes, 0, SIZE);
        params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                            UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        params.address = m_bytes;
        params.length  = SIZE;
        check_status(ucp_mem_map(context, &params, &m_memh), "map");
    }

    ~window()
    {
        EXPECT_EQ(UCS_OK, ucp_mem_unmap(m_context, m_memh));
        munmap(m_bytes, SIZE);
        if (m_fd >= 0) {
            close(m_fd);
        }
    }

    char *bytes() { return m_bytes; }

    /* Tells the origin where the file is, which stays open, and then the key. */
    void give(channel &ch)
    {
        std::ostringstream where;
        size_t size;
        void *key;

        where << getpid() << " " << m_fd << " " << reinterpret_cast<uintptr_t>(m_bytes);
        ch.put(where.str());
        check_status(ucp_rkey_pack(m_context, m_memh, &key, &size), "pack");
        ch.put(std::string(static_cast<char *>(key), size));
        ucp_rkey_buffer_release(key);
    }

private:
    ucp_context_h m_context;
    ucp_mem_h m_memh = nullptr;
    char *m_bytes    = nullptr;
    int m_fd         = -1;
};

/* What a target does between its commands. */
class target {
public:
    explicit target(peer_env &env)
        : m_ch(env.ch), m_shared(has(env.arg, "shared")),
          m_pair(env.ch, env.tr, one_sided_params(has(env.arg, "messages"))),
          m_memory(new window(m_pair.self().context(), m_shared))
    {
        m_memory->give(m_ch);
    }

    void run()
    {
        while (step(next())) {}
        m_memory.reset();
        m_pair.close();
    }

private:
    std::string next()
    {
        if (m_looks) {
            m_pair.wait([&] { return m_ch.readable(); }, "a command");
        }
        return m_ch.get();
    }

    bool step(const std::string &command)
    {
        std::istringstream in(command);
        std::string what;
        size_t a = 0, b = 0;

        in >> what >> a >> b;
        if (what == "look" || what == "compute") {
            m_looks = (what == "look");
            m_ch.put("ok");
        } else if (what == "add") {
            m_ch.put("ok");
            add(a);
            m_ch.put("added");
        } else if (what == "bytes") {
            m_ch.put(std::string(m_memory->bytes() + a, b));
        } else if (what == "again") {
            m_memory.reset();
            m_memory.reset(new window(m_pair.self().context(), m_shared));
            m_memory->give(m_ch);
        } else {
            m_ch.put("ok");
        }
        return what != "end";
    }

    void add(size_t count)
    {
        auto word = reinterpret_cast<uint64_t *>(m_memory->bytes());

        for (size_t i = 0; i < count; ++i) {
            __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
            m_pair.self().progress();
        }
    }

    channel &m_ch;
    bool m_shared;
    bool m_looks = true;
    endpoint_pair m_pair;
    std::unique_ptr<window> m_memory;
};

void target_role(peer_env &env)
{
    target(env).run();
}

peer_role role("one_sided_target", target_role);

} // namespace

one_sided_target::one_sided_target(const transport &tr, const one_sided_use &use)
    : m_kind(use.kind), m_peer("one_sided_target", tr, use_name(use)),
      m_pair(new endpoint_pair(m_peer.ch(), tr, one_sided_params(use.has_messages)))
{
    get_key();
}

one_sided_target::~one_sided_target()
{
    drop_key();
}

void one_sided_target::get_key()
{
    std::istringstream where(m_peer.ch().get());
    std::string path, key;
    pid_t pid;
    int fd;

    where >> pid >> fd >> m_address;
    if (m_kind == memory_kind::SHARED) {
        path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
        fd   = open(path.c_str(), O_RDWR | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        m_shared = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    key = m_peer.ch().get();
    check_status(ucp_ep_rkey_unpack(ep(), key.data(), &m_rkey), "unpack");
}

void one_sided_target::drop_key()
{
    if (m_rkey != nullptr) {
        ucp_rkey_destroy(m_rkey);
        m_rkey = nullptr;
    }
    if (m_shared != nullptr) {
        munmap(m_shared, SIZE);
        m_shared = nullptr;
    }
}

void one_sided_target::answer(const std::string &expected)
{
    m_pair->wait([&] { return m_peer.ch().readable(); }, "the target");
    EXPECT_EQ(expected, m_peer.ch().get());
}

void one_sided_target::tell(const std::string &command)
{
    m_peer.ch().put(command);
    answer("ok");
}

std::string one_sided_target::bytes(size_t offset, size_t length)
{
    m_peer.ch().put("bytes " + std::to_string(offset) + " " + std::to_string(length));
    m_pair->wait([&] { return m_peer.ch().readable(); }, "the target's bytes");
    return m_peer.ch().get();
}

void one_sided_target::map_again()
{
    drop_key();
    m_peer.ch().put("again");
    get_key();
}

void one_sided_target::flush()
{
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret      = ucp_ep_flush_nbx(ep(), &param);

    if (UCS_PTR_IS_PTR(ret)) {
        m_pair->wait([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                     "a flush");
        EXPECT_EQ(UCS_OK, ucp_request_check_status(ret));
        ucp_request_free(ret);
    } else {
        EXPECT_EQ(UCS_OK, UCS_PTR_STATUS(ret));
    }
}

int64_t one_sided_target::count(const char *name)
{
    return counter(m_pair->worker(), name);
}

void one_sided_target::end()
{
    drop_key();
    tell("end");
    m_pair->close();
    m_peer.finish();
}

void one_sided_target::kill()
{
    m_peer.kill_now();
}

} // namespace ucp_test

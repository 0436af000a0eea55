/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The file is mapped. All offsets and sizes in it are checked before they are used. Texts are
 * copied at the end, so that the mapping need not be kept.
 */
#include "ucxri_check_elf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __ELF_NATIVE_CLASS == 64
#define ELF_CLASS_HERE ELFCLASS64
#else
#define ELF_CLASS_HERE ELFCLASS32
#endif
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define ELF_DATA_HERE ELFDATA2LSB
#else
#define ELF_DATA_HERE ELFDATA2MSB
#endif

/* The bytes of a file. */
typedef struct elf_bytes {
    const char *data;
    size_t size;
} elf_bytes_t;

/* @return Where @a size bytes at an offset are, or NULL: they are not all within the file. */
static const void *elf_at(const elf_bytes_t *file, uint64_t offset, uint64_t size)
{
    return ((offset <= file->size) && (size <= file->size - offset)) ?
                   file->data + offset :
                   NULL;
}

/* @return The bytes that are mapped at an address, as far as the file has them. */
static const char *elf_at_address(const elf_bytes_t *file, const ElfW(Phdr) * headers,
                                  size_t count, uint64_t address, uint64_t *size)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        if ((headers[i].p_type == PT_LOAD) && (address >= headers[i].p_vaddr) &&
            (address - headers[i].p_vaddr < headers[i].p_filesz)) {
            *size = headers[i].p_filesz - (address - headers[i].p_vaddr);
            return elf_at(file, headers[i].p_offset + (address - headers[i].p_vaddr),
                          *size);
        }
    }
    return NULL;
}

/* @return A text of the table of strings, or NULL: it has no end there. */
static const char *elf_text(const char *strings, uint64_t size, uint64_t offset)
{
    return ((offset < size) && (memchr(strings + offset, '\0', size - offset) != NULL)) ?
                   strings + offset :
                   NULL;
}

static void elf_read_dynamic(check_elf_t *elf, const elf_bytes_t *file,
                             const ElfW(Phdr) * headers, size_t num_headers,
                             const ElfW(Phdr) * where)
{
    size_t count            = where->p_filesz / sizeof(ElfW(Dyn));
    const ElfW(Dyn) *dyn    = elf_at(file, where->p_offset, count * sizeof(*dyn));
    const char *strings     = NULL;
    uint64_t strings_size   = 0;
    uint64_t strings_length = UINT64_MAX;
    const char *text;
    size_t i;

    if (dyn == NULL) {
        return;
    }
    elf->is_dynamic = 1;
    for (i = 0; (i < count) && (dyn[i].d_tag != DT_NULL); ++i) {
        if (dyn[i].d_tag == DT_STRTAB) {
            strings = elf_at_address(file, headers, num_headers, dyn[i].d_un.d_ptr,
                                     &strings_size);
        } else if (dyn[i].d_tag == DT_STRSZ) {
            strings_length = dyn[i].d_un.d_val;
        }
    }
    count       = i;
    elf->needed = calloc(count + 1, sizeof(*elf->needed));
    if ((strings == NULL) || (elf->needed == NULL)) {
        return;
    }
    if (strings_size > strings_length) {
        strings_size = strings_length;
    }
    for (i = 0; i < count; ++i) {
        text = elf_text(strings, strings_size, dyn[i].d_un.d_val);
        if (text == NULL) {
            continue;
        }
        if (dyn[i].d_tag == DT_NEEDED) {
            elf->needed[elf->num_needed++] = text;
        } else if (dyn[i].d_tag == DT_RPATH) {
            elf->rpath = text;
        } else if (dyn[i].d_tag == DT_RUNPATH) {
            elf->runpath = text;
        }
    }
}

static check_elf_kind_t elf_parse(check_elf_t *elf, const elf_bytes_t *file)
{
    const unsigned char *id = elf_at(file, 0, sizeof(ElfW(Ehdr)));
    const ElfW(Ehdr) *ehdr  = (const void *)id;
    const ElfW(Phdr) * headers;
    size_t count, i;

    if ((file->size >= 2) && !memcmp(file->data, "#!", 2)) {
        return CHECK_ELF_SCRIPT;
    }
    if ((id == NULL) || memcmp(id, ELFMAG, SELFMAG)) {
        return CHECK_ELF_OTHER;
    }
    elf->bits = (id[EI_CLASS] == ELFCLASS32) ? 32 : 64;
    /* the machine stands at the same place whatever the class is */
    elf->machine = (id[EI_DATA] == ELFDATA2LSB) ? id[18] + id[19] * 256u :
                                                  id[19] + id[18] * 256u;
    if ((id[EI_CLASS] != ELF_CLASS_HERE) || (id[EI_DATA] != ELF_DATA_HERE)) {
        return CHECK_ELF_FOREIGN;
    }

    count   = ehdr->e_phnum;
    headers = elf_at(file, ehdr->e_phoff, count * sizeof(*headers));
    if ((headers == NULL) || (ehdr->e_phentsize != sizeof(*headers)) ||
        (ehdr->e_phoff % sizeof(void *) != 0)) {
        return CHECK_ELF_OTHER;
    }
    for (i = 0; i < count; ++i) {
        if (headers[i].p_type == PT_INTERP) {
            elf->has_interpreter = 1;
        } else if ((headers[i].p_type == PT_DYNAMIC) && (elf->needed == NULL) &&
                   (headers[i].p_offset % sizeof(void *) == 0)) {
            elf_read_dynamic(elf, file, headers, count, &headers[i]);
        }
    }
    return CHECK_ELF_FILE;
}

/* Keep the texts, as the file goes away. */
static void elf_keep_texts(check_elf_t *elf)
{
    size_t length = 0;
    size_t i;
    char *end;

#define FOREACH_TEXT(_do) \
    for (i = 0; i < elf->num_needed; ++i) { \
        _do(elf->needed[i]); \
    } \
    _do(elf->rpath); \
    _do(elf->runpath);
#define TEXT_LENGTH(_text) length += ((_text) == NULL) ? 0 : strlen(_text) + 1;
#define TEXT_KEEP(_text) \
    if ((_text) != NULL) { \
        length  = strlen(_text) + 1; \
        (_text) = memcpy(end, _text, length); \
        end += length; \
    }

    FOREACH_TEXT(TEXT_LENGTH)
    elf->image = malloc(length + 1);
    if (elf->image == NULL) {
        elf->num_needed = 0;
        elf->rpath = elf->runpath = NULL;
        return;
    }
    end = elf->image;
    FOREACH_TEXT(TEXT_KEEP)
#undef FOREACH_TEXT
#undef TEXT_LENGTH
#undef TEXT_KEEP
}

/* @return All of a file, which is mapped, or NULL: it cannot be read, for which @a is_there is 0,
 * or it is empty. */
static void *elf_map(const char *path, size_t *size, int *is_there)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *data;

    *is_there = 0;
    if (fd < 0) {
        return NULL;
    }
    if ((fstat(fd, &st) != 0) || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EACCES;
        return NULL;
    }
    *is_there = 1;
    *size     = st.st_size;
    data      = (st.st_size == 0) ? MAP_FAILED :
                                    mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return (data == MAP_FAILED) ? NULL : data;
}

check_elf_kind_t check_elf_read(const char *path, check_elf_t *elf)
{
    elf_bytes_t file;
    size_t size;
    int is_there;
    void *data;

    memset(elf, 0, sizeof(*elf));
    data = elf_map(path, &size, &is_there);
    if (!is_there) {
        return CHECK_ELF_NONE;
    }
    elf->kind = CHECK_ELF_OTHER;
    if (data != NULL) {
        file      = (elf_bytes_t){.data = data, .size = size};
        elf->kind = elf_parse(elf, &file);
        elf_keep_texts(elf);
        munmap(data, size);
    }
    return elf->kind;
}

int check_elf_has_text(const char *path, const char *text)
{
    size_t length = strlen(text);
    size_t size;
    int is_there, found = 0;
    const char *data = elf_map(path, &size, &is_there);
    const char *at   = data;

    while ((data != NULL) && !found && (at != NULL)) {
        at = memmem(at, size - (at - data), text, length);
        if (at != NULL) {
            found = (at > data) && (at[-1] == '\0');
            ++at;
        }
    }
    if (data != NULL) {
        munmap((void *)data, size);
    }
    return found;
}

void check_elf_free(check_elf_t *elf)
{
    free(elf->needed);
    free(elf->image);
    elf->needed     = NULL;
    elf->image      = NULL;
    elf->num_needed = 0;
    elf->rpath      = NULL;
    elf->runpath    = NULL;
}

const char *check_elf_machine(const check_elf_t *elf)
{
    static const struct {
        unsigned machine;
        int bits;
        const char *name;
    } names[] = {{EM_X86_64, 64, "x86-64"},       {EM_X86_64, 32, "x32"},
                 {EM_386, 32, "32-bit x86"},      {EM_AARCH64, 64, "AArch64"},
                 {EM_ARM, 32, "32-bit ARM"},      {EM_PPC64, 64, "64-bit POWER"},
                 {EM_S390, 64, "z/Architecture"}, {EM_RISCV, 64, "64-bit RISC-V"}};
    static char text[32];
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if ((names[i].machine == elf->machine) && (names[i].bits == elf->bits)) {
            return names[i].name;
        }
    }
    snprintf(text, sizeof(text), "machine %u (%d bits)", elf->machine, elf->bits);
    return text;
}

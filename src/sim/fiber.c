#include "fiber.h"

#include "base/assert.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* The sanitizers track stacks, and must know which stack is in use. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SIM_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SIM_ASAN 1
#endif
#ifdef SIM_ASAN
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <string.h>
#endif
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* The stack is large because sanitizers make large frames. Only touched pages take memory. */
enum { STACK_SIZE = 2 << 20, GUARD_SIZE = 4096 };

struct sim__fiber {
    ucontext_t inside;
    ucontext_t outside;
    void (*run)(void *context);
    void *context;
    void *memory; /* a guard, then the stack */
    bool begun;
    bool ended;
#ifdef SIM_ASAN
    void *fake_inside;
    void *fake_outside;
    const void *outside_bottom;
    size_t outside_size;
#endif
#ifdef SIM_TSAN
    void *tsan_inside;
    void *tsan_outside;
#endif
};

static void *stack_of(const struct sim__fiber *fiber) {
    return (char *)fiber->memory + GUARD_SIZE;
}

/* Calls the real swapcontext, because AddressSanitizer's replacement only adds a warning. */
static int switch_context(ucontext_t *from, const ucontext_t *to) {
#ifdef SIM_ASAN
    void *found = dlsym(RTLD_NEXT, "swapcontext");
    int (*real)(ucontext_t *, const ucontext_t *);
    ts_assert(found != NULL);
    memcpy(&real, &found, sizeof real);
    return real(from, to);
#else
    return swapcontext(from, to);
#endif
}

static void go_inside(struct sim__fiber *fiber) {
#ifdef SIM_ASAN
    __sanitizer_start_switch_fiber(&fiber->fake_outside, stack_of(fiber), STACK_SIZE);
#endif
#ifdef SIM_TSAN
    fiber->tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->tsan_inside, 0);
#endif
    const int failed = switch_context(&fiber->outside, &fiber->inside);
    ts_assert(failed == 0);
#ifdef SIM_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_outside, NULL, NULL);
#endif
}

static void arrived_inside(struct sim__fiber *fiber) {
    (void)fiber;
#ifdef SIM_ASAN
    __sanitizer_finish_switch_fiber(fiber->fake_inside, &fiber->outside_bottom, &fiber->outside_size);
#endif
}

static void go_outside(struct sim__fiber *fiber) {
#ifdef SIM_ASAN
    __sanitizer_start_switch_fiber(fiber->ended ? NULL : &fiber->fake_inside, fiber->outside_bottom,
                                   fiber->outside_size);
#endif
#ifdef SIM_TSAN
    __tsan_switch_to_fiber(fiber->tsan_outside, 0);
#endif
    const int failed = switch_context(&fiber->inside, &fiber->outside);
    ts_assert(failed == 0);
    arrived_inside(fiber);
}

/* makecontext passes only ints, so the fiber's address comes in two halves. */
static void enter(unsigned high, unsigned low) {
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    struct sim__fiber *fiber = (struct sim__fiber *)((uintptr_t)high << 32 | (uintptr_t)low);
    arrived_inside(fiber);
    fiber->run(fiber->context);
    fiber->ended = true;
    go_outside(fiber);
    ts_unreachable("a fiber that has ended is not resumed");
}

/* Prepares the contexts of a fiber. A separate function, because getcontext may return twice, like setjmp. */
static bool prepare(struct sim__fiber *fiber) {
    if (getcontext(&fiber->inside) != 0)
        return false;
    fiber->inside.uc_stack.ss_sp = stack_of(fiber);
    fiber->inside.uc_stack.ss_size = STACK_SIZE;
    fiber->inside.uc_link = NULL;
    const uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->inside, (void (*)(void))enter, 2, (unsigned)(address >> 32), (unsigned)address);
    return true;
}

struct sim__fiber *sim__fiber_new(void (*run)(void *context), void *context) {
    struct sim__fiber *fiber = calloc(1, sizeof *fiber);
    if (fiber == NULL)
        return NULL;
    fiber->run = run;
    fiber->context = context;
    fiber->memory = mmap(NULL, STACK_SIZE + GUARD_SIZE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->memory == MAP_FAILED) {
        free(fiber);
        return NULL;
    }
    if (mprotect(fiber->memory, GUARD_SIZE, PROT_NONE) != 0 || !prepare(fiber)) {
        munmap(fiber->memory, STACK_SIZE + GUARD_SIZE);
        free(fiber);
        return NULL;
    }
#ifdef SIM_TSAN
    fiber->tsan_inside = __tsan_create_fiber(0);
#endif
    return fiber;
}

void sim__fiber_free(struct sim__fiber *fiber) {
    if (fiber == NULL)
        return;
    ts_assert(fiber->ended || !fiber->begun);
#ifdef SIM_TSAN
    __tsan_destroy_fiber(fiber->tsan_inside);
#endif
#ifdef SIM_ASAN
    /* The first frame of the fiber has never returned. */
    ASAN_UNPOISON_MEMORY_REGION(stack_of(fiber), STACK_SIZE);
#endif
    munmap(fiber->memory, STACK_SIZE + GUARD_SIZE);
    free(fiber);
}

void sim__fiber_resume(struct sim__fiber *fiber) {
    ts_assert(!fiber->ended);
    fiber->begun = true;
    go_inside(fiber);
}

void sim__fiber_yield(struct sim__fiber *fiber) {
    go_outside(fiber);
}

bool sim__fiber_has_ended(const struct sim__fiber *fiber) {
    return fiber->ended;
}

#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

void cli__catch_interrupts(void (*handler)(int number)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
}

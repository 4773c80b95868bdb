/* The kernel's information about a TCP connection. Without PostgreSQL's headers: see tcp.c. */
#ifndef COLONNADE_TCP_H
#define COLONNADE_TCP_H

#include <stdbool.h>

#include "colonnade_encoder.h"

/* See link.h. */
extern void tcp_limit_unsent(int socket, uint32_t bytes);
extern bool tcp_queue(int socket, ColonnadeQueue *queue);

#endif

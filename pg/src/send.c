#include "compat.h"

#include "send.h"

#include "deferred.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "socket.h"

/* Message type and length. */
#define COPY_DATA_HEADER 5

/* Smaller slices are copied together. For larger ones a separate system call costs less than the copy. */
#define SMALL_SLICE 8192
#define STAGING 65536

static char staging[STAGING];

/* The part of a message that is not sent yet: `bytes`, then the slices from `next` on. All members are 0 between messages. */
typedef struct Rest {
    const ColonnadeMessage *message;
    const char *bytes;
    Size length;
    size_t next;
} Rest;

/* The next bytes to send, from the staging area or in place. `staged` bytes are already in the staging area. */
static void
load(Rest *rest, Size staged)
{
    const ColonnadeMessage *message = rest->message;

    rest->bytes = staging;
    for (; rest->next < message->count; rest->next++) {
        const ColonnadeSlice *slice = &message->slices[rest->next];

        if (slice->length >= SMALL_SLICE || staged + slice->length > STAGING)
            break;
        memcpy(staging + staged, slice->bytes, slice->length);
        staged += slice->length;
    }
    if (staged == 0 && rest->next < message->count) {
        rest->bytes = (const char *) message->slices[rest->next].bytes;
        staged = message->slices[rest->next].length;
        rest->next++;
    }
    rest->length = staged;
}

static Size
rest_length(const Rest *rest)
{
    Size length = rest->length;

    for (size_t i = rest->next; i < rest->message->count; i++)
        length += rest->message->slices[i].length;
    return length;
}

static void
copy_rest(const Rest *rest, char *to)
{
    memcpy(to, rest->bytes, rest->length);
    to += rest->length;
    for (size_t i = rest->next; i < rest->message->count; i++) {
        memcpy(to, rest->message->slices[i].bytes, rest->message->slices[i].length);
        to += rest->message->slices[i].length;
    }
}

/*
 * Allows a cancel, a timeout or a conflict with recovery to end the statement between two messages, and within one. The rest
 * of a message is then kept, and sent before anything else.
 */
static void
check_for_interrupts(const Rest *rest)
{
    char *copy;

    if (rest->message != NULL) {
        if (!deferred_begin(rest_length(rest), &copy))
            return;
        copy_rest(rest, copy);
    }
    PG_TRY();
    {
        /* If the statement continues, messages that this sends to the client must also come after the message. */
        CHECK_FOR_INTERRUPTS();
    }
    PG_CATCH();
    {
        /*
         * Without a rest, the error itself must not wait for the client. The end of a session, which does not reach
         * this line, is reported.
         */
        if (rest->message == NULL)
            (void) deferred_begin(0, &copy);
        deferred_keep();
        PG_RE_THROW();
    }
    PG_END_TRY();
}

/* Waits until the client has read what libpq has buffered, because it must be sent before bytes that bypass the buffer. */
static void
empty_buffer(void)
{
    static const Rest nothing;

    while (!ClientConnectionLost && pq_is_send_pending()) {
        (void) pq_flush_if_writable();
        if (ClientConnectionLost || !pq_is_send_pending())
            break;
        if (InterruptPending)
            check_for_interrupts(&nothing);
        socket_wait_writable();
    }
}

static void
send_bytes(Rest *rest)
{
    for (load(rest, COPY_DATA_HEADER); rest->length > 0; load(rest, 0))
        while (rest->length > 0) {
            Size written = socket_write(rest->bytes, rest->length);

            if (ClientConnectionLost)
                return;
            rest->bytes += written;
            rest->length -= written;
            if (written > 0)
                continue;
            if (InterruptPending)
                check_for_interrupts(rest);
            socket_wait_writable();
        }
}

/*
 * pq_putmessage() would copy everything through a buffer of 8 KB, with one system call for each. Writing the slices in place
 * keeps the order of bytes as long as that buffer is empty.
 */
void
send_copy_data(const ColonnadeMessage *message)
{
    uint32 length = pg_hton32((uint32) (message->length + sizeof(length)));
    Rest rest = {.message = message};

    empty_buffer();
    staging[0] = COPY_DATA_MESSAGE;
    memcpy(staging + 1, &length, sizeof(length));
    send_bytes(&rest);
    deferred_end();
    rest = (Rest){0};
    if (InterruptPending)
        check_for_interrupts(&rest);
}

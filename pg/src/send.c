#include "compat.h"

#include "send.h"

#include "libpq/libpq.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"

/* Type and length. */
#define COPY_DATA_HEADER 5

/* Slices below this are gathered; above, a system call of their own costs less than the copy. */
#define SMALL_SLICE 8192
#define STAGING 65536

static char staging[STAGING];
static Size staged;

/*
 * As internal_flush() of pqcomm.c does: a client that is gone is no error here, since an error would have to be sent to it;
 * the next CHECK_FOR_INTERRUPTS() ends the session.
 */
static void
write_bytes(const char *bytes, Size length)
{
    while (length > 0 && !ClientConnectionLost) {
        ssize_t written = secure_write(MyProcPort, unconstify(char *, bytes), length);

        if (written > 0) {
            bytes += written;
            length -= written;
        } else if (errno != EINTR) {
            ereport(COMMERROR, errcode_for_socket_access(), errmsg("could not send data to client: %m"));
            ClientConnectionLost = 1;
            InterruptPending = 1;
        }
    }
}

static void
write_staged(void)
{
    write_bytes(staging, staged);
    staged = 0;
}

static void
stage(const char *bytes, Size length)
{
    if (length >= SMALL_SLICE) {
        write_staged();
        write_bytes(bytes, length);
        return;
    }
    if (staged + length > STAGING)
        write_staged();
    memcpy(staging + staged, bytes, length);
    staged += length;
}

/*
 * pq_putmessage() would copy everything through a buffer of 8 KB, with a system call each. Writing the slices from where they are
 * keeps the order of bytes as long as that buffer is empty, which pq_flush() sees to; it also makes the socket blocking.
 */
void
send_copy_data(const ColonnadeMessage *message)
{
    char header[COPY_DATA_HEADER] = {COPY_DATA_MESSAGE};
    uint32 length = pg_hton32((uint32) (message->length + sizeof(length)));

    memcpy(header + 1, &length, sizeof(length));
    if (!ClientConnectionLost)
        (void) pq_flush();
    staged = 0;
    stage(header, sizeof(header));
    for (size_t i = 0; i < message->count; i++)
        stage((const char *) message->slices[i].bytes, message->slices[i].length);
    write_staged();
    CHECK_FOR_INTERRUPTS();
}

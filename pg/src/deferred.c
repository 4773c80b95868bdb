#include "compat.h"

#include "deferred.h"

#include "access/xact.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "socket.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"

/* The methods that ours replace; NULL while they do not. */
static const PQcommMethods *replaced;

/* The message is not completely sent, and no error has ended the statement. */
static bool within_message;

static char *rest;
static Size rest_length;
static Size rest_sent;

static void
drop_rest(void)
{
    if (rest != NULL)
        pfree(rest);
    rest = NULL;
    rest_length = rest_sent = 0;
}

static void
restore(void)
{
    drop_rest();
    within_message = false;
    PqCommMethods = replaced;
    replaced = NULL;
}

/* Whether the whole rest is sent. */
static bool
send_rest(bool wait)
{
    while (rest_sent < rest_length && !ClientConnectionLost) {
        Size written = socket_write(rest + rest_sent, rest_length - rest_sent);

        rest_sent += written;
        if (written == 0 && !ClientConnectionLost) {
            if (!wait)
                return false;
            socket_wait_writable();
        }
    }
    drop_rest();
    return true;
}

static void
reset(void)
{
    replaced->comm_reset();
}

static int
flush_if_writable(void)
{
    if (within_message || !send_rest(false))
        return 0;
    return replaced->flush_if_writable();
}

/*
 * The error itself, and warnings of its abort, are flushed while the transaction is still open. At that time nothing waits
 * for the client. ReadyForQuery comes after the abort.
 */
static int
flush(void)
{
    const PQcommMethods *core = replaced;

    if (within_message || IsTransactionState())
        return flush_if_writable();
    (void) send_rest(true);
    restore();
    return core->flush();
}

static bool
is_send_pending(void)
{
    return rest_sent < rest_length || replaced->is_send_pending();
}

static int put_message(char type, const char *bytes, size_t length);

/* Enlarges libpq's buffer, so that nothing is sent from it, and calls put_message(). */
static void
put_message_noblock(char type, const char *bytes, size_t length)
{
    replaced->putmessage_noblock(type, bytes, length);
}

static int
put_message(char type, const char *bytes, size_t length)
{
    static bool has_room;
    int result = 0;

    if (has_room)
        return replaced->putmessage(type, bytes, length);
    has_room = true;
    PG_TRY();
    {
        put_message_noblock(type, bytes, length);
    }
    PG_FINALLY();
    {
        has_room = false;
    }
    PG_END_TRY();
    return result;
}

static const PQcommMethods ours = {
    .comm_reset = reset,
    .flush = flush,
    .flush_if_writable = flush_if_writable,
    .is_send_pending = is_send_pending,
    .putmessage = put_message,
    .putmessage_noblock = put_message_noblock,
};

/* Whether the client receives the rest without sending anything first. */
static bool
is_possible(void)
{
    /*
     * A simple Query is followed by ReadyForQuery. With the extended protocol the server reads until Sync before it
     * sends again, and a client may wait for the error before it sends Sync. This is no problem if the client has
     * already sent more.
     */
    return ActivePortal == NULL || !ActivePortal->visible || CLIENT_HAS_SENT_MORE;
}

bool
deferred_begin(Size length, char **room)
{
    drop_rest();
    if (length > 0 && is_possible())
        rest = MemoryContextAllocExtended(TopMemoryContext, length, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
    if (length > 0 && rest == NULL)
        return false;
    *room = rest;
    rest_length = length;
    within_message = true;
    if (replaced == NULL) {
        replaced = PqCommMethods;
        PqCommMethods = &ours;
    }
    return true;
}

void
deferred_keep(void)
{
    within_message = false;
}

void
deferred_end(void)
{
    if (replaced != NULL)
        restore();
}

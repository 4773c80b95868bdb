#include "compat.h"

#include "socket.h"

#include "libpq/libpq.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/wait_event.h"

/*
 * As internal_flush() of pqcomm.c does: a lost client is not an error here, because an error would have to be sent to it.
 * The next CHECK_FOR_INTERRUPTS() ends the session.
 */
Size
socket_write(const char *bytes, Size length)
{
    ssize_t written;

    MyProcPort->noblock = true;
    written = secure_write(MyProcPort, unconstify(char *, bytes), length);
    MyProcPort->noblock = false;
    if (written > 0)
        return written;
    if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
        ereport(COMMERROR, errcode_for_socket_access(), errmsg("could not send data to client: %m"));
        ClientConnectionLost = 1;
        InterruptPending = 1;
    }
    return 0;
}

void
socket_wait_writable(void)
{
    WaitEvent event;

    ModifyWaitEvent(FeBeWaitSet, FeBeWaitSetSocketPos, WL_SOCKET_WRITEABLE, NULL);
    WaitEventSetWait(FeBeWaitSet, -1, &event, 1, WAIT_EVENT_CLIENT_WRITE);
    if (event.events & WL_POSTMASTER_DEATH)
        ereport(FATAL, errcode(ERRCODE_ADMIN_SHUTDOWN),
                errmsg("terminating connection due to unexpected postmaster exit"));
    if (event.events & WL_LATCH_SET) {
        ResetLatch(MyLatch);
        ProcessClientWriteInterrupt(true);
    }
}

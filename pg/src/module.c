#include "compat.h"

#include "colonnade_encoder.h"
#include "fmgr.h"
#include "hook.h"
#include "miscadmin.h"
#include "parallel.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(colonnade_version);

/* PROTOCOL §1: the announcement for clients, if the library is loaded before they connect. */
#define ANNOUNCEMENT "colonnade.version"

/* The same for COPY FROM. */
#define RECEIVE_ANNOUNCEMENT "colonnade.receive"

static int announced_version;
static int announced_receive;

void
_PG_init(void)
{
    int version = (int) colonnade_format_version();

    if (colonnade_encoder_prepare() != COLONNADE_OK)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                errdetail("Failed while loading colonnade."));
    DefineCustomIntVariable(ANNOUNCEMENT, "The highest version of the Colonnade stream format that is sent.", NULL,
                            &announced_version, version, version, version, PGC_INTERNAL,
                            GUC_REPORT | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
    DefineCustomIntVariable(RECEIVE_ANNOUNCEMENT, "The highest version of the Colonnade stream format that is received.",
                            NULL, &announced_receive, version, version, version, PGC_INTERNAL,
                            GUC_REPORT | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE, NULL, NULL, NULL);
    parallel_register();
    hook_install();
}

/* The same by a call, which also loads the library if it is not loaded yet. */
Datum
colonnade_version(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT32((int32) colonnade_format_version());
}

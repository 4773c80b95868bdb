/* Where COPY … (FORMAT colonnade) is caught. */
#ifndef COLONNADE_HOOK_H
#define COLONNADE_HOOK_H

/* Puts our hooks in front of those that are there. */
extern void hook_install(void);

#endif

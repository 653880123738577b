import type { Service } from '../../core/boxes/index.ts'

// What the servers print when they will not come up however long one waits (SAFETY, The probe). What is also printed on the way to good is
// none of these: a PostgreSQL that recovers says FATAL to everybody who comes too early, and a Synapse only warns of a collation that it was
// told to bear.

const fatal: Readonly<Partial<Record<Service, RegExp>>> = {
  synapse: /Cannot use this database as it is too new for the server|^\s*Error in configuration(?: at|:)/,
  postgres:
    /\bPANIC: {2}|\bFATAL: {2}(?:database files are incompatible with server|data directory .* has (?:wrong ownership|invalid permissions)|could not (?:open|read) file "global\/pg_control|.* is not a valid data directory|configuration file .* contains errors)/,
  minio: /\bFATAL (?:Unable to|Invalid) /,
}

/** The last line that says it; undefined where nothing printed is beyond hope. */
export const fatalLine = (service: string, log: string): string | undefined =>
  log
    .split('\n')
    .findLast((line) => fatal[service as Service]?.test(line))
    ?.trim()

import type { Service } from '../../core/boxes/index.ts'
import { lastSaid } from '../boxes/index.ts'

// What the servers print when they will not come up however long one waits (SAFETY, The probe). What is also printed on the way to good is
// none of these: a PostgreSQL that recovers says FATAL to everybody who comes too early, starts itself anew after most of what it calls PANIC,
// and a Synapse only warns of a collation that it was told to bear. Nor is what a log only quotes: statements and names of clients are in it too.

const fatal: Readonly<Partial<Record<Service, RegExp>>> = {
  synapse: /^\s*(?:[\w.]+: )?Cannot use this database as it is too new for the server|^\s*Error in configuration(?: at|:)/,
  postgres:
    /^[^'"]*\b(?:PANIC|FATAL): {2}(?:could not locate (?:a valid|required) checkpoint record|database files are incompatible with server|data directory .* has (?:wrong ownership|invalid permissions)|could not (?:open|read) file "global\/pg_control|.* is not a valid data directory|configuration file .* contains errors)/,
  minio: /^[^'"]*\bFATAL (?:Unable to|Invalid) /,
}

/** The last line that says it; undefined where nothing printed is beyond hope. */
export const fatalLine = (service: string, log: string): string | undefined => lastOf(log, fatal[service as Service])

/** Of one that has ended: why, as far as it said; else its last line. */
export const lastWords = (service: string, log: string): string =>
  fatalLine(service, log) ?? lastOf(log, /^[^'"]*\bPANIC: {2}/) ?? lastSaid(log) ?? ''

const lastOf = (log: string, pattern: RegExp | undefined): string | undefined =>
  log
    .split('\n')
    .findLast((line) => pattern?.test(line))
    ?.trim()

import type { Service } from '../../core/boxes/index.ts'
import { lastLogLine } from '../boxes/index.ts'

// Lines that a server prints only when it will never come up. Not among them: a recovering PostgreSQL says FATAL to early clients and restarts
// after most PANICs, Synapse only warns about a tolerated collation, and a log quotes statements and names of clients.

const fatal: Readonly<Partial<Record<Service, RegExp>>> = {
  synapse: /^\s*(?:[\w.]+: )?Cannot use this database as it is too new for the server|^\s*Error in configuration(?: at|:)/,
  postgres:
    /^[^'"]*\b(?:PANIC|FATAL): {2}(?:could not locate (?:a valid|required) checkpoint record|database files are incompatible with server|data directory .* has (?:wrong ownership|invalid permissions)|could not (?:open|read) file "global\/pg_control|.* is not a valid data directory|configuration file .* contains errors)/,
  minio: /^[^'"]*\bFATAL (?:Unable to|Invalid) /,
}

/** The last fatal line of a log, if there is one. */
export const fatalLine = (service: string, log: string): string | undefined => lastOf(log, fatal[service as Service])

/** Why a server exited, as far as its log says: a fatal line, a PANIC, or its last line. */
export const exitReason = (service: string, log: string): string =>
  fatalLine(service, log) ?? lastOf(log, /^[^'"]*\bPANIC: {2}/) ?? lastLogLine(log) ?? ''

const lastOf = (log: string, pattern: RegExp | undefined): string | undefined =>
  log
    .split('\n')
    .findLast((line) => pattern?.test(line))
    ?.trim()

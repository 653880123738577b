import type { Kysely, Transaction } from 'kysely'
import type { FrameTables } from './schema.ts'

/**
 * Every table of the daemon. Rooms add theirs by declaration merging in their own `x.tables.ts`:
 * `declare module '../db/database.ts' { interface Tables { hosts: HostTable } }`.
 */
export interface Tables extends FrameTables {}

/** The database outside a transaction. */
export type Db = Kysely<Tables>

/** Inside one. Verbs that must commit together with others take a `Tx`, so that nobody can call them outside. */
export type Tx = Transaction<Tables>

/** For reads that may happen in either. */
export type DbOrTx = Db | Tx

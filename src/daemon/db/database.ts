import type { Kysely, Transaction } from 'kysely'
import type { FrameTables } from './schema.ts'

/**
 * Every table of the daemon. Features add theirs by declaration merging in their own `x.tables.ts`:
 * `declare module '../db/database.ts' { interface Tables { hosts: HostTable } }`.
 */
export interface Tables extends FrameTables {}

/** The database outside a transaction. */
export type Db = Kysely<Tables>

/** The database inside a transaction. A function that must commit together with others takes a `Tx`. */
export type Tx = Transaction<Tables>

/** The dependencies of a function that runs in a transaction. */
export type WithTx<Deps> = Deps & Readonly<{ tx: Tx }>

/** For reads inside or outside a transaction. */
export type DbOrTx = Db | Tx

import type { Kysely } from 'kysely'

/** One step of the schema. Frozen once shipped: a mistake is mended by a later migration. */
export type Migration = Readonly<{ name: string; up(db: Kysely<unknown>): Promise<void> }>

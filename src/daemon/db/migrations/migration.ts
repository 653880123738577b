import type { Kysely } from 'kysely'

/** One step of the schema. Once released it never changes: a later migration fixes its mistakes. */
export type Migration = Readonly<{ name: string; up(db: Kysely<unknown>): Promise<void> }>

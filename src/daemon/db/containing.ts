import { type RawBuilder, sql } from 'kysely'

/** Whether these letters stand anywhere in a column, as they are: no sign among them means any other. */
export const contains = (column: string, letters: string): RawBuilder<boolean> =>
  sql<boolean>`${sql.ref(column)} like ${`%${letters.replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`

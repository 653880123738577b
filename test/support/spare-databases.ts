import { sql } from 'kysely'
import { type Db, openDatabase } from '../../src/daemon/db/index.ts'

// PostgreSQL copies a thousand files per new database, which costs more than most tests. So databases of finished suites
// are reset and reused by later suites of the same worker.

const spare: string[] = []

/**
 * Properties that a test must not change: an altered or still connected database is not reused. Compared by name, not by
 * count: a table renamed by a test would be missed.
 */
const shapeOf = sql<{ shape: string }>`select concat_ws(' ',
  (select md5(string_agg(concat_ws('.', relname, attname, atttypid, attnotnull), ' ' order by relname, attnum))
    from pg_class left join pg_attribute on attrelid = pg_class.oid and not attisdropped where relnamespace = 'public'::regnamespace),
  (select md5(string_agg(concat_ws('.', conrelid, conname), ' ' order by conrelid, conname)) from pg_constraint where connamespace = 'public'::regnamespace),
  (select md5(string_agg(concat_ws('.', tgrelid, tgname, tgenabled), ' ' order by tgrelid, tgname)) from pg_trigger),
  (select md5(string_agg(concat_ws('.', proname, prosrc), ' ' order by proname)) from pg_proc where pronamespace = 'public'::regnamespace),
  (select count(*) from pg_stat_activity where datname = current_database())) as shape`

let untouched: string | undefined
let filled: string[] | undefined

/** Ignores foreign keys and delete triggers; resets sequences. */
const emptied = (kept: readonly string[]) =>
  sql`do ${sql.lit(`
  declare one record; has_rows boolean;
  begin
    set local session_replication_role = replica;
    for one in select tablename as name from pg_tables where schemaname = 'public' loop
      execute format('select exists (select 1 from %I)', one.name) into has_rows;
      if has_rows then execute format('delete from %I', one.name); end if;
    end loop;
    for one in select sequencename as name, start_value from pg_sequences where schemaname = 'public' loop
      perform setval(format('%I', one.name)::regclass, one.start_value, false);
    end loop;
    ${kept.join(';\n')};
  end`)}`

/** Records schema and content of a new database, once. */
export async function recordNew(db: Db, rows: (db: Db) => Promise<string[]>): Promise<void> {
  untouched ??= (await shapeOf.execute(db)).rows[0]?.shape
  filled ??= await rows(db)
}

/** URL and open connection of a reset database, if there is one. */
export async function takeSpare(): Promise<{ db: Db; url: string } | undefined> {
  const url = spare.pop()
  if (url === undefined) return undefined
  const { db, close } = openDatabase(url)
  if ((await shapeOf.execute(db)).rows[0]?.shape === untouched) {
    await emptied(filled ?? []).execute(db)
    return { db, url }
  }
  await close()
  return takeSpare()
}

/** Marks it as unused. */
export const giveBack = (url: string): void => void spare.push(url)

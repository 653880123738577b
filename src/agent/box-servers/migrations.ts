import type { BoxMigration } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'
import { viewBox } from './box-view.ts'
import { databaseFacts } from './database-facts.ts'
import { databaseLogin, lastLine, literal, psql } from './sql.ts'

/** One migration and the note of it: both are there, or neither (spec 4.10). */
export async function applyMigration(engine: ContainerEngine, box: LocalBox, migration: BoxMigration, signal?: AbortSignal): Promise<void> {
  if (await isNoted(engine, box, migration)) return
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const { exitCode, stderr } = await psql({ engine, view, login, signal }, migrationSql(migration))
  if (exitCode === 0) return
  signal?.throwIfAborted()
  // One that an earlier agent had begun may have ended meanwhile.
  if (await isNoted(engine, box, migration)) return
  throw problem('UPDATE_FAILED', `the box migration ${migration.head}-${migration.name} failed in ${box.slug}: ${errorIn(stderr)}`)
}

async function isNoted(engine: ContainerEngine, box: LocalBox, { head, sha256 }: BoxMigration): Promise<boolean> {
  const facts = await databaseFacts(engine, box)
  return facts?.migrations.some((applied) => applied.head === head && applied.sha256 === sha256) ?? false
}

/** The note comes first: whoever runs the same one beside us waits there, and then fails. */
const migrationSql = ({ head, name, sha256, sql }: BoxMigration): string => `begin;
set local client_min_messages = warning;
do $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    raise exception 'the role % is a superuser, and box migrations run as the owner of the database only', current_user;
  end if;
end
$$;
create schema if not exists tenantry;
create table if not exists tenantry.box_migrations (
  head text primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
insert into tenantry.box_migrations (head, name, sha256) values (${literal(head)}, ${literal(name)}, ${literal(sha256)});
${sql}
;
commit;
`

/** The server's own words; what psql prints after them is the place in the text. */
const errorIn = (stderr: string): string => (/(?:ERROR|FATAL):\s+.*/.exec(stderr)?.[0] ?? lastLine(stderr)).slice(0, 300)

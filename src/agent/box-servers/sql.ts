import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, ExecOptions, ExecResult, RowCounts } from '../ports/index.ts'
import { type BoxView, runningId } from './box-view.ts'

/**
 * Role and database of a box, by the environment of its container. In a box of our template `user` owns the database and no more, and
 * `superuser` is somebody else; a stack of another make has one role for both.
 */
export type DatabaseLogin = Readonly<{ user: string; database: string; superuser: string }>

/** A question is answered soon or not at all; a container whose programs hang must not hold its asker. */
const questionMs = 20_000
const withLimit = (signal?: AbortSignal): AbortSignal => {
  const limit = AbortSignal.timeout(questionMs)
  return signal ? AbortSignal.any([signal, limit]) : limit
}

/** By engine and container: the environment of a container is what it was made with, and each look at it costs a process in there. */
const logins = new WeakMap<ContainerEngine, Map<string, DatabaseLogin>>()

export async function databaseLogin(engine: ContainerEngine, view: BoxView, signal?: AbortSignal): Promise<DatabaseLogin> {
  const id = runningId(view, 'postgres')
  const known = logins.get(engine) ?? new Map<string, DatabaseLogin>()
  logins.set(engine, known)
  const login = known.get(id) ?? (await readLogin(engine, id, withLimit(signal)))
  known.set(id, login)
  return login
}

async function readLogin(engine: ContainerEngine, id: string, signal: AbortSignal): Promise<DatabaseLogin> {
  const read = (name: string) => readVariable(engine, id, name, signal)
  const [own, told] = await Promise.all([read('TENANTRY_DATABASE'), read('POSTGRES_USER')])
  const superuser = told || 'postgres'
  if (own) return { user: own, database: own, superuser }
  return { user: superuser, database: (await read('POSTGRES_DB')) || superuser, superuser }
}

/** printenv's own word for it, and that of an image that has no printenv: both are answers. */
const unset: readonly number[] = [1, 127]

/**
 * Empty for a variable that is not set. A program that the stop of its container ended has said nothing: taken for an unset variable, it
 * would make another role of the owner for as long as the agent runs. Throws BOX_UNHEALTHY.
 */
async function readVariable(engine: ContainerEngine, id: string, name: string, signal: AbortSignal): Promise<string> {
  const { exitCode, stdout } = await engine.exec(id, ['printenv', name], { signal })
  if (exitCode === 0 || unset.includes(exitCode)) return stdout.trim()
  throw problem('BOX_UNHEALTHY', `the database container ${id.slice(0, 12)} cannot be asked for ${name}: exit code ${exitCode}`)
}

/** The one role that may make and drop databases, and read roles. */
export const asSuperuser = (login: DatabaseLogin): DatabaseLogin => ({ ...login, user: login.superuser, database: 'postgres' })

/** By TCP, because the temporary server of an image that fills an empty volume listens on its socket only. Never asks for a password. */
export const connection = ({ user, database }: Pick<DatabaseLogin, 'user' | 'database'>): string[] => [
  '-w',
  '-h',
  '127.0.0.1',
  '-U',
  user,
  '-d',
  database,
]

export type SqlRun = Readonly<{ engine: ContainerEngine; view: BoxView; login: DatabaseLogin; signal?: AbortSignal | undefined }>
type Talk = SqlRun & Pick<ExecOptions, 'onStdout'>

/** Runs SQL that the agent itself made. No start-up file, stop at the first error, values only. */
export const psql = (
  { engine, view, login, signal, onStdout }: Talk,
  sql: NonNullable<ExecOptions['stdin']>,
  ...options: string[]
): Promise<ExecResult> =>
  engine.exec(runningId(view, 'postgres'), ['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', ...options, ...connection(login)], {
    stdin: sql,
    ...(onStdout ? { onStdout } : {}),
    ...(signal ? { signal } : {}),
  })

/** The output of a short question; undefined when it failed. */
export async function askSql(engine: ContainerEngine, view: BoxView, sql: string): Promise<string | undefined> {
  const { exitCode, stdout } = await psql({ engine, view, login: await databaseLogin(engine, view), signal: withLimit() }, sql)
  return exitCode === 0 ? stdout.trim() : undefined
}

/** The output of SQL that must succeed. */
export async function needSql(run: SqlRun, sql: string, code: 'SNAPSHOT_FAILED' | 'RESTORE_FAILED'): Promise<string> {
  const { exitCode, stdout, stderr } = await psql(run, sql)
  if (exitCode === 0) return stdout
  throw problem(code, `psql in ${run.view.box.slug} ended with exit code ${exitCode}: ${lastLine(stderr)}`)
}

export const lastLine = (text: string): string => (text.trim().split('\n').at(-1) ?? '').slice(0, 300)

/**
 * What PostgreSQL said was wrong; its programs say more below it. A server that speaks another language than English is known by the code of an
 * error, where psql shows it (classes 00 to 02 are none), and in what pg_dump says by the program's own words.
 */
export const errorLine = (text: string): string =>
  (englishError.exec(text) ?? codedError.exec(text) ?? failedQuery.exec(text))?.[0] ?? lastLine(text)

const englishError = /ERROR: .*/
const codedError = /[^\s:]+: {2}(?!0[0-2])[0-9A-Z]{5}: .*/
const failedQuery = /query failed: .*/

/** Whether what went wrong was said in another language: no words of it can be relied on. */
export const isForeign = (text: string): boolean => !englishError.test(text) && failedQuery.test(text)

/** A text as SQL has it. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Left out: what a restore clears, and what only probes write. */
export const countSql = `select table_name || ' ' || (xpath('/row/c/text()',
  query_to_xml(format('select count(*) as c from %I.%I', table_schema, table_name), false, true, '')))[1]::text
from information_schema.tables
where table_schema = 'public' and table_type = 'BASE TABLE' and table_name not in ('e2e_one_time_keys_json', 'tenantry_probe')
order by table_name;
`

export const parseCounts = (printed: string): RowCounts =>
  Object.fromEntries(
    printed
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
  )

/** Throws RESTORE_FAILED with the tables that differ. A table of which nothing was expected does not matter. */
export function needSameCounts(slug: string, expected: RowCounts, loaded: RowCounts): void {
  const wrong = Object.entries(expected).filter(([table, count]) => loaded[table] !== count)
  if (wrong.length === 0) return
  const list = wrong.slice(0, 5).map(([table, count]) => `${table} has ${loaded[table] ?? 'no'} rows instead of ${count}`)
  throw problem('RESTORE_FAILED', `the loaded database of ${slug} is not the dumped one: ${list.join('; ')}`)
}

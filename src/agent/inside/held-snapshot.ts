import { PassThrough } from 'node:stream'
import { problem } from '../../core/kit/index.ts'
import type { ExecResult } from '../ports/index.ts'
import { lastLine, psql, type SqlRun } from './sql.ts'

/** A box may end sessions that are idle or slow; this one is both, as often as the database is large. */
const beginSql = `set idle_in_transaction_session_timeout = 0;
set statement_timeout = 0;
begin isolation level repeatable read read only;
select pg_export_snapshot();
`

/**
 * Does work on the database as it is at one moment, however much is written meanwhile: a session holds that moment open, tells its name,
 * and answers the question `sql` about it when the work is done. Throws SNAPSHOT_FAILED when the session ends before that.
 */
export async function withHeldSnapshot(run: SqlRun, sql: string, work: (snapshot: string) => Promise<void>): Promise<string> {
  const { name, finish, abandon } = holdSnapshot(run)
  try {
    await work(await name)
    return await finish(sql)
  } catch (error) {
    await abandon()
    throw error
  }
}

function holdSnapshot(run: SqlRun) {
  const stdin = new PassThrough()
  const first = firstLine()
  const session = psql({ ...run, onStdout: first.hear }, stdin)
  const died = session.then(
    (ended) => Promise.reject(sessionEnded(run, ended)),
    (error) => Promise.reject(error),
  )
  died.catch(() => undefined)
  stdin.write(beginSql)
  return {
    name: Promise.race([first.line, died]),
    finish: async (sql: string) => {
      stdin.end(sql)
      const ended = await session
      if (ended.exitCode !== 0) throw sessionEnded(run, ended)
      return ended.stdout.slice(ended.stdout.indexOf('\n') + 1)
    },
    abandon: async () => {
      stdin.end()
      await session.catch(() => undefined)
    },
  }
}

const sessionEnded = ({ view }: SqlRun, { exitCode, stderr }: ExecResult) =>
  problem('SNAPSHOT_FAILED', `psql in ${view.box.slug} ended with exit code ${exitCode}: ${lastLine(stderr)}`)

function firstLine(): { line: Promise<string>; hear(part: Buffer): void } {
  let heard = ''
  let tell: (line: string) => void = () => undefined
  const line = new Promise<string>((resolve) => {
    tell = resolve
  })
  return {
    line,
    hear: (part) => {
      if (heard.includes('\n')) return
      heard += part.toString('utf8')
      if (heard.includes('\n')) tell(heard.slice(0, heard.indexOf('\n')))
    },
  }
}

import { PassThrough } from 'node:stream'
import { lsnText, lsnValue } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, DatabaseBackup, ExecResult, ForeignDatabase, HeldLog } from '../ports/index.ts'
import { type EngineBox, inspectBox } from './box-view.ts'
import { foreignServer } from './foreign-database.ts'
import { asSuperuser, databaseLogin, errorLine, literal, psql, type SqlRun } from './sql.ts'

// One session of psql for the whole backup. Backup mode and a temporary replication slot end with their session, so a killed agent leaves neither.

/** The session is idle while the data folder is copied. `client_connection_check_interval` ends it during the checkpoint when the agent dies. */
const preparedSql = `set statement_timeout = 0;
do $$
begin
  perform set_config(name, wanted, false)
  from (values ('idle_session_timeout', '0'), ('client_connection_check_interval', '1000')) as settings (name, wanted)
  where name in (select name from pg_settings);
exception when others then null;
end
$$;
`

/** The slot reserves the log before the backup begins. Each of these prints one line. */
const startSql = (
  name: string,
) => `${preparedSql}select slot_name from pg_create_physical_replication_slot(${literal(name)}, true, true) \\gset
select lsn || ' ' || pg_walfile_name(lsn) from pg_backup_start(${literal(name)}, true) as lsn;
`
/** The shutdown then has only the writes since this checkpoint to bring to the disk. */
const finishSql = `checkpoint;
select encode(convert_to(labelfile, 'UTF8'), 'hex') || ' ' || length(coalesce(trim(spcmapfile), '')) from pg_backup_stop(false);
`
const switchSql = `select pg_switch_wal() as closed \\gset
select pg_walfile_name(pg_current_wal_insert_lsn());
`

export async function beginBackup({ engine, box }: EngineBox, name: string, signal: AbortSignal): Promise<DatabaseBackup> {
  const view = await inspectBox(engine, box)
  return backupOf({ engine, view, login: asSuperuser(await databaseLogin(engine, view, signal)), signal }, name)
}

export const beginForeignBackup = (
  engine: ContainerEngine,
  source: ForeignDatabase,
  { slug, name, signal }: Readonly<{ slug: string; name: string; signal: AbortSignal }>,
): Promise<DatabaseBackup> => backupOf({ engine, signal, ...foreignServer(slug, source) }, name)

async function backupOf(run: SqlRun & Readonly<{ signal: AbortSignal }>, name: string): Promise<DatabaseBackup> {
  const { box } = run.view
  const session = openSession(run)
  try {
    const [fromLsn, segment] = (await session.ask(startSql(name), checkpointMs)).split(' ')
    if (fromLsn === undefined || segment === undefined) throw problem('SNAPSHOT_FAILED', `PostgreSQL of ${box.slug} began no backup`)
    return {
      ...{ fromLsn, segment },
      finishCopy: async () => {
        const [label = '', mapped] = (await session.ask(finishSql, checkpointMs)).split(' ')
        if (mapped !== '0') throw problem('SNAPSHOT_FAILED', `PostgreSQL of ${box.slug} has tablespaces, which no copy includes`)
        return Buffer.from(label, 'hex').toString('utf8')
      },
      switchLog: () => session.ask(switchSql, checkpointMs),
      end: session.end,
    }
  } catch (error) {
    await session.end()
    throw error
  }
}

const holdSql = (
  name: string,
) => `${preparedSql}select slot_name from pg_create_physical_replication_slot(${literal(name)}, true, true) \\gset
select system_identifier || ' ' || pg_size_bytes(current_setting('wal_segment_size')) || ' ' ||
  (select restart_lsn from pg_replication_slots where slot_name = ${literal(name)}) from pg_control_system();
`
const positionSql = `select pg_walfile_name(lsn) || ' ' || lsn from pg_current_wal_flush_lsn() as lsn;
`
const releaseSql = (name: string, before: bigint) =>
  `select end_lsn from pg_replication_slot_advance(${literal(name)}, ${literal(lsnText(before))});
`

/** The slot is temporary, as that of a backup: it can never fill a disk whose agent is gone. */
export async function holdLog({ engine, box }: EngineBox, name: string, signal: AbortSignal): Promise<HeldLog> {
  const view = await inspectBox(engine, box)
  const session = openSession({ engine, view, login: asSuperuser(await databaseLogin(engine, view, signal)), signal })
  try {
    const [systemId, segmentBytes, from] = (await session.ask(holdSql(name))).split(' ')
    if (systemId === undefined || from === undefined) throw problem('SNAPSHOT_FAILED', `PostgreSQL of ${box.slug} keeps no log`)
    let kept = lsnValue(from)
    return {
      ...{ systemId, segmentBytes: Number(segmentBytes), from: kept },
      position: async () => {
        const [segment = '', flushed = ''] = (await session.ask(positionSql)).split(' ')
        return { timeline: Number.parseInt(segment.slice(0, 8), 16), flushed: lsnValue(flushed) }
      },
      release: async (before) => {
        if (before <= kept) return
        await session.ask(releaseSql(name, before))
        kept = before
      },
      end: session.end,
    }
  } catch (error) {
    await session.end()
    throw error
  }
}

/** A checkpoint may write for minutes. */
const checkpointMs = 10 * 60_000
/** A database that hangs must not hold up those of other boxes. */
const questionMs = 60_000
const endMs = 10_000

/** A session that answers one line to each question, one question after the other. A question without an answer in time ends it. */
export function openSession(run: SqlRun & Readonly<{ signal: AbortSignal }>) {
  const stdin = new PassThrough()
  stdin.on('error', () => undefined) // the session reports its end
  const over = new AbortController()
  const answers = lines()
  const session = psql({ ...run, signal: AbortSignal.any([run.signal, over.signal]), onStdout: answers.receive }, stdin)
  const died = session.then((ended) => Promise.reject(sessionEnded(run, ended)))
  died.catch(() => undefined)
  let isAsking = false
  let before: Promise<unknown> = Promise.resolve()
  const askNow = async (sql: string, limitMs: number): Promise<string> => {
    isAsking = true
    stdin.write(sql)
    const answer = await orLate(Promise.race([answers.next(), died]), limitMs)
    if (answer === late) {
      over.abort('late')
      throw problem('SNAPSHOT_FAILED', `PostgreSQL of ${run.view.box.slug} did not answer for ${limitMs / 1000} s`)
    }
    isAsking = false
    return answer
  }
  return {
    ask: (sql: string, limitMs = questionMs): Promise<string> => {
      const asked = before.then(() => askNow(sql, limitMs))
      before = asked.catch(() => undefined)
      return asked
    },
    end: async (): Promise<void> => {
      stdin.end()
      // A session that waits for a checkpoint does not notice the end of its input.
      if (isAsking) over.abort('ended')
      const ended = session.catch(() => undefined)
      if ((await orLate(ended, endMs)) !== late) return
      over.abort('late')
      await orLate(ended, endMs)
    },
  }
}

const late: unique symbol = Symbol('late')

/** By the time of the machine: the database is outside of the agent. */
async function orLate<Value>(work: Promise<Value>, ms: number): Promise<Value | typeof late> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

const sessionEnded = ({ view }: SqlRun, { exitCode, stderr }: ExecResult) =>
  problem('SNAPSHOT_FAILED', `the backup session of ${view.box.slug} ended with exit code ${exitCode}: ${errorLine(stderr)}`)

function lines(): { next(): Promise<string>; receive(part: Buffer): void } {
  let received = ''
  let waiting: ((line: string) => void) | undefined
  const hand = () => {
    const end = received.indexOf('\n')
    if (end < 0 || !waiting) return
    waiting(received.slice(0, end))
    waiting = undefined
    received = received.slice(end + 1)
  }
  return {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve
        hand()
      }),
    receive: (part) => {
      received += part.toString('utf8')
      hand()
    },
  }
}

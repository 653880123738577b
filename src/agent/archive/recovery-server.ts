import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lsnText, lsnValue } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { readPlainFile, waitUntil } from '../boxes/index.ts'
import type { CommandJournal } from '../journal/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'
import type { ArchiveFacts } from './facts.ts'
import { takeOwner } from './spool.ts'

// A PostgreSQL of the archived version on the recovered files, without a network. Its compose file is made here: nothing of the archive is mounted
// but its data, because the archive may be of a host that is compromised.

/** The prefix of the names of all recovery servers of one agent. */
export const recoveryProjects = (stateFolder: string): string => `recover-${sha256Hex(stateFolder).slice(0, 8)}-`
export const recoveryProject = (stateFolder: string, commandId: string): string =>
  `${recoveryProjects(stateFolder)}${sha256Hex(commandId).slice(0, 12)}`

export const volumeKey = 'recovered'

/** JSON is YAML in which every text is quoted. */
export function serverText({ image, environment, target }: ArchiveFacts['postgres'], project: string, volume: string): string {
  return JSON.stringify({
    name: project,
    services: {
      postgres: {
        ...{ image, environment, network_mode: 'none', stop_signal: 'SIGINT', stop_grace_period: '2m', shm_size: '256m', restart: 'no' },
        healthcheck: { disable: true },
        volumes: [{ type: 'volume', source: volumeKey, target }],
      },
    },
    volumes: { [volumeKey]: { name: volume, external: true } },
  })
}

type Target = Readonly<{
  dataFolder: string
  owner: ArchiveFacts['postgres']['owner']
  to: string | null
  /** Where the last part of the log ends. */
  logEnd: bigint
}>

/** No connection before the end of the recovery; nothing is sent or waited for elsewhere. */
const settings = [
  // The end of the recovery is known by what the server says.
  "lc_messages = 'C'",
  ...["restore_command = 'false'", "recovery_target_timeline = 'current'", "recovery_target_action = 'promote'", 'hot_standby = off'],
  ...['archive_mode = off', "synchronous_standby_names = ''"],
]

async function writeRecovery({ dataFolder, owner, to }: Target): Promise<void> {
  const [signal, conf] = [join(dataFolder, 'recovery.signal'), join(dataFolder, 'postgresql.auto.conf')]
  await writeFile(signal, '')
  await takeOwner(signal, { ...owner, mode: 0o600 })
  // PostgreSQL refuses the zone `Z` here, which it takes everywhere else.
  const target = `recovery_target_time = '${to?.replace('Z', '+00') ?? ''}'`
  await appendFile(conf, `\n${[...settings, target].join('\n')}\n`)
  await takeOwner(conf, { ...owner, mode: 0o600 })
}

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Parameters<typeof waitUntil>[0]['clock'] }>
type Starting = Readonly<{ server: LocalBox; text: string; target: Target; signal: AbortSignal }>

/** Without a commit after the moment PostgreSQL does not know that it was reached; all of the log is what was wanted then. */
const notReached = /recovery ended before configured recovery target was reached/

const timeoutMs = 6 * 60 * 60_000

/** Starts the server and waits until it has replayed the log. Throws RESTORE_FAILED. */
export async function startRecovery(deps: Deps, { server, text, target, signal }: Starting): Promise<void> {
  await writeFileAtomic(server.project.composeFile, text)
  await writeRecovery(target)
  const said = await replay(deps, server, signal)
  if (said === undefined) return target.to === null ? assertWhole(server, target) : undefined
  if (target.to === null || !notReached.test(said)) throw failed(server, said)
  await deps.engine.discard(server.project, ['postgres'])
  await writeRecovery({ ...target, to: null })
  const again = await replay(deps, server, signal)
  if (again !== undefined) throw failed(server, again)
  await assertWhole(server, target)
}

/** The last record of the log may be on the disk in part, and is not replayed then. */
const maxRecordBytes = 1024n * 1024n

/** The end of valid log looks like the end of all log. Throws RESTORE_FAILED where the archive has more. */
async function assertWhole({ slug }: LocalBox, { dataFolder, logEnd }: Target): Promise<void> {
  const log = join(dataFolder, 'pg_wal')
  const newest = (await readdir(log))
    .filter((name) => /^[0-9A-F]{8}\.history$/.test(name))
    .sort()
    .at(-1)
  const text = (newest === undefined ? undefined : await readPlainFile(log, newest)) ?? ''
  const [, end] = /^\d+\t([0-9A-F]+\/[0-9A-F]+)/.exec(text.trim().split('\n').at(-1) ?? '') ?? []
  if (end !== undefined && lsnValue(end) + maxRecordBytes >= logEnd) return
  throw problem(
    'RESTORE_FAILED',
    `the archive of ${slug} could be replayed up to ${end ?? 'no known position'}, and its log goes to ${lsnText(logEnd)}. fix: an earlier moment, or a snapshot`,
  )
}

const failed = ({ slug }: LocalBox, said: string) => {
  const line = said.split('\n').findLast((one) => /FATAL|PANIC|ERROR/.test(one)) ?? said.trim().split('\n').at(-1) ?? ''
  return problem('RESTORE_FAILED', `PostgreSQL could not recover the archive of ${slug}: ${line.slice(0, 300)}`)
}

/** The log of a server that ended; undefined once it accepts connections. */
async function replay({ engine, servers, clock }: Deps, server: LocalBox, signal: AbortSignal): Promise<string | undefined> {
  await engine.up(server.project, ['postgres'], signal)
  let said: string | undefined
  const isOver = async () => {
    const database = (await engine.containers(server.project)).find(({ service }) => service === 'postgres')
    if (database && database.state !== 'running') said = await engine.logs(database.id, 100)
    return said !== undefined || servers.databaseReady(server).catch(() => false)
  }
  if (!(await waitUntil({ clock, everyMs: 500, timeoutMs, signal }, isOver)))
    throw problem('RESTORE_FAILED', `the recovery of ${server.slug} took longer than six hours`)
  return said
}

type SweepDeps = Readonly<{ engine: ContainerEngine; journal: CommandJournal; stateFolder: string }>

/** Removes what recoveries left when the agent starts; open commands remove their own. Returns the projects. */
export async function sweepRecoveries({ engine, journal, stateFolder }: SweepDeps): Promise<readonly string[]> {
  const open = new Set((await journal.open()).map(({ commandId }) => recoveryProject(stateFolder, commandId)))
  const leftover = (await engine.projects(recoveryProjects(stateFolder))).filter((name) => !open.has(name))
  for (const name of leftover) {
    await engine.removeProject(name)
    await engine.unpin(name)
  }
  return leftover
}

import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ProbeComponent, ProbeResult } from '../../core/boxes/index.ts'
import { type Clock, isoNow, type Random } from '../../core/kit/index.ts'
import { fenceFile, readProbeAccount } from '../boxes/index.ts'
import type { ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { type BoxView, inspectBox } from './box-view.ts'
import { checkMedia, checkMessageRoundTrip, checkSync, checkTokenRequired, checkVersions } from './chat.ts'
import type { Origin } from './http.ts'
import { checkCluster, checkUpload } from './objects.ts'
import { databaseLogin, lastLine, psql } from './sql.ts'

export type BoxServersDeps = Readonly<{ engine: ContainerEngine; clock: Clock; random: Random }>

/** Upper bound for one component, also for hanging programs in a container. */
const componentTimeoutMs = 30_000

/** Runs one writing probe. An unhealthy box is a result; only an abort or a bug throws. */
export const probe = (deps: BoxServersDeps, box: LocalBox, signal?: AbortSignal): Promise<ProbeResult> =>
  runChecks(deps, { box, checks, timeoutMs: componentTimeoutMs }, signal)

/**
 * A light probe for every minute. With `writes` it also writes, but only what replaces itself: a probe that sends messages and files each time
 * would fill the box.
 */
export const check = (deps: BoxServersDeps, { box, writes }: Readonly<{ box: LocalBox; writes: boolean }>, signal?: AbortSignal) =>
  runChecks(deps, { box, checks: writes ? writingGlances : glances, timeoutMs: glanceTimeoutMs }, signal)

const glanceTimeoutMs = 10_000

type Run = Readonly<{ box: LocalBox; checks: Readonly<Record<ProbeComponent, ComponentCheck>>; timeoutMs: number }>

async function runChecks(deps: BoxServersDeps, { box, checks, timeoutMs }: Run, signal?: AbortSignal): Promise<ProbeResult> {
  const limit = AbortSignal.timeout(timeoutMs)
  const within = signal ? AbortSignal.any([signal, limit]) : limit
  const at = isoNow(deps.clock)
  const view = await inspectBox(deps.engine, box)
  const measured = await Promise.all(
    (Object.entries(checks) as [ProbeComponent, ComponentCheck][]).map(
      async ([name, look]) => [name, await measure(deps.clock, () => look(deps, view, within), signal)] as const,
    ),
  )
  const components = Object.fromEntries(measured) as ProbeResult['components']
  const bad = measured.find(([, { ok }]) => !ok)
  if (!bad) return { at, verdict: 'ok', components }
  return { at, verdict: await verdict(deps, view, components), components, reason: `${bad[0]}: ${bad[1].error}` }
}

type ComponentCheck = (deps: BoxServersDeps, view: BoxView, signal: AbortSignal) => Promise<void>

const checks = {
  chatApi: async ({ engine }, view, signal) => {
    for (const origin of ways(view)) await checkVersions(origin, signal)
    await checkFenceMounted(engine, view, signal)
  },
  chatSync: async ({ random }, view, signal) => {
    const account = await readProbeAccount(view.box.project)
    const check = (origin: Origin) =>
      account ? checkMessageRoundTrip({ random, signal }, origin, account) : checkTokenRequired(origin, signal)
    // Users may be waiting. The first failure in this order is given, so that a server that keeps failing gives the same one each time.
    const checked = await Promise.allSettled(ways(view).map(check))
    for (const one of checked) if (one.status === 'rejected') throw one.reason
  },
  database: (deps, view, signal) => runSql(deps, view, { sql: writeSql, signal }),
  objectStorage: async ({ engine, random }, view, signal) => {
    await checkCluster(view, signal)
    if (view.secrets) await checkUpload({ engine, random, signal }, view)
    const account = await readProbeAccount(view.box.project)
    if (account && view.chat) await checkMedia(view.chat, account, signal)
  },
} as const satisfies Record<ProbeComponent, ComponentCheck>

const glances: Run['checks'] = {
  chatApi: async (_, view, signal) => checkVersions(wayIn(view), signal),
  chatSync: async ({ random }, view, signal) => {
    const account = await readProbeAccount(view.box.project)
    await (account ? checkSync({ random, signal }, wayIn(view), account) : checkTokenRequired(wayIn(view), signal))
  },
  database: (deps, view, signal) => runSql(deps, view, { sql: 'select 1;', signal }),
  objectStorage: (_, view, signal) => checkCluster(view, signal),
}

const writingGlances: Run['checks'] = {
  ...glances,
  database: checks.database,
  objectStorage: async ({ engine, random }, view, signal) => {
    await checkCluster(view, signal)
    if (view.secrets) await checkUpload({ engine, random, signal }, view)
  },
}

/** As users come in: through the edge, where the box has one of ours. */
const wayIn = (view: BoxView): Origin => ways(view).at(-1) as Origin

/** Synapse directly, and through the edge's probe listener if there is one. */
function ways({ chat, edge }: BoxView): Origin[] {
  if (!chat) throw new Error('synapse is not running')
  return edge ? [chat, edge] : [chat]
}

async function runSql({ engine }: BoxServersDeps, view: BoxView, { sql, signal }: Readonly<{ sql: string; signal: AbortSignal }>) {
  const login = await databaseLogin(engine, view, signal)
  const { exitCode, stderr } = await psql({ engine, view, login, signal }, sql)
  if (exitCode !== 0) throw new Error(lastLine(stderr) || `psql ended with exit code ${exitCode}`)
}

const writeSql = `set client_min_messages = warning;
select 1;
create table if not exists tenantry_probe (id integer primary key, at timestamptz not null);
insert into tenantry_probe values (1, now()) on conflict (id) do update set at = excluded.at;
`

async function measure(clock: Clock, look: () => Promise<void>, signal?: AbortSignal): Promise<ProbeResult['components'][ProbeComponent]> {
  const start = clock.monotonicMs()
  const ms = () => Math.round(clock.monotonicMs() - start)
  try {
    await look()
    return { ok: true, ms: ms() }
  } catch (error) {
    signal?.throwIfAborted()
    return { ok: false, ms: ms(), error: (error as Error).message.slice(0, 300) }
  }
}

const recovering = /the database system is starting up|not yet accepting connections|in recovery mode|recovery is in progress/i

async function verdict({ engine }: BoxServersDeps, view: BoxView, components: ProbeResult['components']): Promise<ProbeResult['verdict']> {
  if (recovering.test(components.database.error ?? '')) return 'recovering'
  const synapse = view.container('synapse')
  const patient = components.database.ok && components.objectStorage.ok && synapse?.state === 'running'
  return patient && isUpgrading(await engine.logs(synapse.id, 400).catch(() => '')) ? 'upgrading' : 'failed'
}

const inEdge = '/etc/nginx/fence'

/**
 * Checks that the edge mounts the current fence folder. A folder that was recreated is a different one for the container, so a fence would
 * have no effect.
 */
async function checkFenceMounted(engine: ContainerEngine, { box, secrets, container }: BoxView, signal?: AbortSignal): Promise<void> {
  const edge = container('edge')
  if (!secrets || edge?.state !== 'running') return
  const folder = dirname(fenceFile(box.project))
  const here = await stat(folder).catch(() => undefined)
  if (!here) throw new Error(`the fence folder ${folder} is missing. fix: create it, then recreate the edge`)
  if ((await mountedFolder(engine, edge, signal)) === here.ino) return
  throw new Error(`the edge mounts a deleted fence folder, not ${folder}. fix: recreate the edge`)
}

/** Cached by engine and start of the edge: the mount never changes while it runs, and users may be waiting for the probe. */
const mounted = new WeakMap<ContainerEngine, Map<string, { startedAt: string; folder: number }>>()

/** The inode of the edge's fence folder. */
async function mountedFolder(engine: ContainerEngine, { id, startedAt }: ContainerState, signal?: AbortSignal): Promise<number> {
  const known = mounted.get(engine) ?? new Map<string, { startedAt: string; folder: number }>()
  mounted.set(engine, known)
  const found = known.get(id)
  if (found?.startedAt === startedAt) return found.folder
  const { exitCode, stdout } = await engine.exec(id, ['stat', '-c', '%i', inEdge], signal ? { signal } : {})
  if (exitCode !== 0) throw new Error(`the edge has no fence folder at ${inEdge}, so the box cannot be fenced. fix: recreate the edge`)
  const folder = Number(stdout.trim())
  known.set(id, { startedAt, folder })
  return folder
}

// Checking the schema is not an upgrade: a crashing Synapse checks it at every restart.
const begun = /Applying (engine-specific )?schema|Upgrading/
const ended = /Schema now up to date|now listening on|too new for the server|Traceback|Checking existing schema version/

/** True when Synapse's log shows a running schema upgrade, during which it does not listen. */
export function isUpgrading(log: string): boolean {
  const lines = log.split('\n')
  return lines.findLastIndex((line) => begun.test(line)) > lines.findLastIndex((line) => ended.test(line))
}

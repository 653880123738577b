import {
  type BoxCommandKind,
  type BoxCommandResult,
  boxesContract,
  type DrillResult,
  type RepositoryReport,
  type RestoreResult,
  type SnapshotTaken,
  type SnapshotTier,
  type UpdateResult,
} from '../../src/core/boxes/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { agentContract, type LeasedCommand } from '../../src/core/hosts/index.ts'
import { isoNow, sha256Hex } from '../../src/core/kit/index.ts'
import { snapshotsContract } from '../../src/core/snapshots/index.ts'
import { boxesRoutes, boxPort } from '../../src/daemon/boxes/index.ts'
import { type Db, eventsAfter } from '../../src/daemon/db/index.ts'
import { agentRoutes, commandById, commandSweep, composeHandlers, type HostsDeps, secretsByKind } from '../../src/daemon/hosts/index.ts'
import { fixesOfEmergencies, snapshotsOfRollouts, versionsBeforeUpdate } from '../../src/daemon/rollouts/index.ts'
import {
  commandSecrets,
  exchangeArchives,
  retentionRule,
  type SnapshotsDeps,
  snapshotListener,
  snapshotsRoutes,
  storeListener,
} from '../../src/daemon/snapshots/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { aProbe } from './boxes.ts'
import { aBoxesWorld, aLiveBox, anOperator, type BoxesWorld, heardOf } from './boxes-world.ts'
import { shortTimes } from './host-world.ts'
import { roundsOf } from './loops.ts'
import { servedApp } from './served-app.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const installed = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
/** Full ids derived from a word. */
export const idOf = (word: string): string => sha256Hex(word)

/** Live boxes on hosts, the daemon's features behind a real socket, and agents with scripted results. */
export async function snapshotsWorld(db: Db, change: Partial<SnapshotsDeps> = {}) {
  const room = await aBoxesWorld(db)
  const deps: SnapshotsDeps & Pick<BoxesWorld, 'clock'> = {
    ...room,
    log: silentLogger(),
    owner: 'replica-1',
    settings: { backupKey: Buffer.alloc(32, 7).toString('base64'), snapshotStore: 'file:/srv/snapshots' },
    rule: retentionRule({ snapshots: { ...rule, archive: noTiers, archiveDays: 14 } }),
    archive: { tiers: noTiers, days: 14 },
    deadlineMs: 6 * hourMs,
    references: [snapshotsOfRollouts],
    fixes: fixesOfEmergencies,
    versionsBefore: versionsBeforeUpdate,
    maintain: () => Promise.reject(new Error('the daemon has no store of its own here')),
    ...change,
    clock: room.clock,
  }
  const side = composeHandlers(
    boxPort({ ...room, secretsFor: secretsByKind({ snapshots: commandSecrets({ ...deps, fetch }), registries: async () => ({}) }) }),
    snapshotListener(deps),
    storeListener(deps),
  )
  const archives: HostsDeps['archives'] = (hostId, body) => exchangeArchives({ ...deps, fetch }, hostId, body)
  const hosts = { ...room, archives, log: silentLogger(), baseUrl: 'http://127.0.0.1', agents: shortTimes, boxes: side } as HostsDeps
  const { url } = await servedApp([...boxesRoutes(room), ...snapshotsRoutes(deps), ...agentRoutes(hosts)], {
    authenticate: {
      admin: async () => anOperator,
      agent: async (host = '') => ({ kind: 'agent', hostId: `hst_${host}`, name: host, instanceId: 'one' }),
    },
    clock: room.clock,
  })
  const headers = (host = '') => ({ baseUrl: url, headers: () => ({ connection: 'close', authorization: host }) })
  const api = makeClient({ ...boxesContract, ...snapshotsContract }, headers())
  const agentOf = (host: string) => makeClient(agentContract, headers(host))

  /** Fetches the next command as the agent of a host. */
  const take = async (host = 'host-1'): Promise<LeasedCommand> => {
    await heard(host)
    const { command } = await agentOf(host).nextCommand({ body: { holding: [] } })
    if (!command) throw new Error(`nothing to do on ${host}`)
    return command
  }
  const heard = async (host: string) => {
    await db.updateTable('hosts').set({ instance_id: 'one' }).where('name', '=', host).execute()
    await heardOf(room, host)
  }
  const post = ({ id, leaseToken }: LeasedCommand, outcome: unknown, host = 'host-1') =>
    agentOf(host).postResult({ params: { id }, body: { leaseToken, outcome: outcome as never } })
  /** Fetches the next command and posts its result. */
  const answer = async <Kind extends BoxCommandKind>(kind: Kind, result: BoxCommandResult<Kind>, host?: string) => {
    const command = await take(host)
    if (command.kind !== kind) throw new Error(`the next command is ${command.kind}, not ${kind}`)
    await post(command, { ok: true, result }, host)
    return command
  }
  const fail = async (code = 'DISK_FULL', host?: string) => {
    const command = await take(host)
    await post(command, { ok: false, error: { code, message: 'it did not work' } }, host)
    return command
  }
  /** All commands that jobs enqueued and agents have not run. */
  const open = async () =>
    (await db.selectFrom('commands').selectAll().where('status', 'in', ['queued', 'leased', 'running']).orderBy('id').execute()).map(
      ({ kind, box_id }) => ({ kind, box_id }),
    )

  const sweep = roundsOf({ ...hosts, owner: 'replica-1' }, commandSweep(hosts as never))
  return {
    db,
    room,
    deps,
    clock: room.clock,
    api,
    agentOf,
    take,
    post,
    answer,
    fail,
    open,
    sweep,
    aBox: async (slug: string, host = 'host-1') => {
      const box = await aLiveBox(room, slug, { host })
      await room.clock.advance(1000)
      return box
    },
    heard: () =>
      db
        .updateTable('hosts')
        .set({ last_seen_at: isoNow(room.clock) })
        .execute(),
    command: (id: string) => commandById(db, id),
    events: async () =>
      (await eventsAfter(db, { stream: 'admin', after: 0 }))
        .filter(({ source }) => source === 'snapshots')
        .map(({ eventType, payload }) => ({ eventType, ...(payload as object) })),
    audit: async () =>
      (await db.selectFrom('audit').select(['actor', 'action', 'subject']).orderBy('seq').execute()).filter(({ action }) =>
        /^snapshot|^box\.(restore|drill)/.test(action),
      ),
    taken: (word: string, given: Partial<SnapshotTaken> = {}): { snapshot: SnapshotTaken } => ({
      snapshot: { ...aSnapshot(word), takenAt: isoNow(room.clock), ...given },
    }),
    /** Gives the box a snapshot taken through the channel. */
    aSnapshot: async (slug: string, word: string, tier: SnapshotTier = 'manual') => {
      const { commandId } = await api.takeSnapshot({ params: { slug } })
      await answer('tenant-box.snapshot', { snapshot: { ...aSnapshot(word), takenAt: isoNow(room.clock) } })
      if (tier !== 'manual') await db.updateTable('snapshots').set({ tier }).where('snapshot_id', '=', idOf(word)).execute()
      await room.clock.advance(1000)
      return { snapshotId: idOf(word), commandId }
    },
  }
}

const noTiers = { free: false, pro: false, enterprise: false }

const rule = {
  keepDaily: 7,
  keepWeekly: 4,
  keepMonthly: 6,
  preUpdateDays: 30,
  preRestoreDays: 30,
  manualDays: 90,
  finalDays: 365,
  deadlineMs: 6 * hourMs,
}

const aSnapshot = (word: string): SnapshotTaken => ({
  snapshotId: idOf(word),
  tier: 'manual',
  snapshotSha256: sha256Hex(`manifest of ${word}`),
  takenAt: '2026-01-05T02:00:00.000Z',
  durationMs: 12_000,
  addedBytes: 4_000_000,
  files: 321,
  installed,
})

export const aRestore = (given: Partial<RestoreResult> = {}): RestoreResult => ({
  outcome: 'restored',
  snapshotId: idOf('a'),
  preRestore: null,
  durationMs: 90_000,
  fencedMs: 80_000,
  probes: [aProbe()],
  report: null,
  error: null,
  ...given,
})

export const aDrill = (given: Partial<DrillResult> = {}): DrillResult => ({
  ok: true,
  snapshotId: idOf('a'),
  durationMs: 70_000,
  restoreMs: 45_000,
  tables: 190,
  rows: 12_345,
  media: null,
  probe: aProbe(),
  error: null,
  ...given,
})

export const anUpdate = (given: Partial<UpdateResult> = {}): UpdateResult => ({
  outcome: 'committed',
  snapshotOk: true,
  updateOk: true,
  healthOk: true,
  rolledBack: false,
  snapshotId: idOf('u'),
  snapshotSha256: sha256Hex('manifest of u'),
  durationMs: 200_000,
  fencedMs: 120_000,
  digestsBefore: {},
  digestsAfter: {},
  probes: [aProbe()],
  composeBackup: null,
  report: null,
  error: null,
  ...given,
})

type Listed = RepositoryReport['present'][number]

export const aListed = (word: string, given: Partial<Listed> = {}): Listed => ({
  snapshotId: idOf(word),
  tier: 'manual',
  commandId: `cmd_${word}`,
  slug: 'north',
  takenAt: '2026-01-05T02:00:00.000Z',
  addedBytes: 4_000_000,
  ...given,
})

export const aTended = (words: readonly string[], given: Partial<RepositoryReport> = {}): RepositoryReport => ({
  forgotten: [],
  present: words.map((word) => aListed(word)),
  freedBytes: null,
  check: null,
  repositoryId: 'a'.repeat(64),
  ...given,
})

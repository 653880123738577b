import { sql } from 'kysely'
import {
  type BoxCommandKind,
  type BoxCommandPayload,
  type BoxCommandResult,
  type InstalledVersions,
  parseImage,
  type RestoreResult,
  synapseSchemaOf,
  type UpdateResult,
  type VersionsReport,
} from '../../src/core/boxes/index.ts'
import { isoNow, sha256Hex } from '../../src/core/kit/index.ts'
import type { RolloutDetail } from '../../src/core/rollouts/index.ts'
import { applyManifest, boxPort } from '../../src/daemon/boxes/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { type Command, commandById, composeHandlers } from '../../src/daemon/hosts/index.ts'
import { lateResults, makeRolloutBus, makeRolloutEngine, type RolloutsDeps, versionsBeforeUpdate } from '../../src/daemon/rollouts/index.ts'
import { createRollout, rollbackRollout, showRollout, startRollout } from '../../src/daemon/rollouts/testing.ts'
import { snapshotListener } from '../../src/daemon/snapshots/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { aManifest, aProbe } from './boxes.ts'
import { aBoxesWorld, aHost, anOperator, type BoxesWorld, heardOf } from './boxes-world.ts'
import { synapseSchemas } from './synapse-schemas.ts'

/** The outcome of an update; `pull-fails` and `refuses` end before it starts. */
export type Fate = 'commits' | 'pull-fails' | 'fails' | 'rolls-back' | 'rollback-fails' | 'lies' | 'refuses'

export type BoxSpec = Readonly<{ slug: string; plan?: 'light' | 'pro' | 'dedicated'; host?: string; canary?: boolean; managed?: boolean }>

const before: InstalledVersions = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const wantedSynapse = '1.163.2'
/** The last lines of a chat server that does not start. */
export const failureLogs = ['one', 'two', 'three', 'four'].map((text, n) => ({ at: `2026-01-05T02:00:0${n}Z`, service: 'synapse', text }))

/** Every phase of a staged rollout has a box, and one has several. */
export const oneOfEachPhase: readonly BoxSpec[] = [
  { slug: 'acme', canary: true },
  { slug: 'beta' },
  { slug: 'cora' },
  { slug: 'dora' },
  { slug: 'prima', plan: 'pro' },
  { slug: 'magna', plan: 'dedicated' },
]

export const newImage = `registry.example/synapse:v${wantedSynapse}`
export const digestOf = (image: string): string => `sha256:${sha256Hex(image)}`
/** Id of the snapshot of a box's n-th update. */
export const snapshotIdOf = (slug: string, nth = 1): string => sha256Hex(`snapshot ${nth} of ${slug}`)

export type RolloutWorld = ReturnType<typeof worldOf>

/** Boxes behind the manifest, their hosts, and an agent with scripted outcomes. */
export async function rolloutWorld(
  db: Db,
  boxes: readonly BoxSpec[],
  settings: Partial<RolloutsDeps['settings']> = {},
  change: Partial<Pick<RolloutsDeps, 'probe'>> = {},
): Promise<RolloutWorld> {
  const room = await aBoxesWorld(db)
  const hosts = [...new Set(boxes.map(({ slug, host }) => host ?? `host-of-${slug}`))]
  for (const host of hosts) await aHost(room, host)
  await applyManifest(room, anOperator, aManifest({ synapse: wantedSynapse }))
  for (const box of boxes) await insertBox(room, box)
  return worldOf({ ...room, ...change }, boxes, settings)
}

function worldOf(room: BoxesWorld, boxes: readonly BoxSpec[], settings: Partial<RolloutsDeps['settings']>) {
  const { db, clock } = room
  const deps: RolloutsDeps & { clock: BoxesWorld['clock'] } = {
    ...room,
    log: silentLogger(),
    rolloutBus: makeRolloutBus(),
    owner: 'replica-1',
    settings: { parallel: 3, perHost: 1, pollMs: 5000, actionDeadlineMs: 7_200_000, ...settings },
    assertSnapshotsConfigured: () => undefined,
    schemas: synapseSchemas,
    fenceMaxMs: 15 * 60_000,
    upgrades: { keepFormerDays: 7, rehearsalMaxAgeMs: 14 * 86_400_000 },
    fences: { free: 'auto', pro: 'auto', enterprise: 'auto' },
    snapshots: { free: 'before', pro: 'before', enterprise: 'before' },
    copyBytesPerSecond: 64e6,
    approvalTokenSha256: undefined,
    hasRecoveryKey: true,
  }
  const signal = new AbortController().signal
  const installed = new Map(boxes.map(({ slug }) => [slug, before]))
  const fates = new Map<string, Fate[]>()
  /** Report fields other than versions. */
  const said = new Map<string, Partial<VersionsReport>>()
  /** The content of each snapshot. */
  const snapshots = new Map<string, InstalledVersions>()
  const taken = new Map<string, number>()
  const side = composeHandlers(
    boxPort({ ...room, secretsFor: async () => ({}) }),
    snapshotListener({ ...room, deadlineMs: 1, versionsBefore: versionsBeforeUpdate }),
    lateResults(room),
  )
  const engine = makeRolloutEngine(deps)

  const reportOf = (slug: string): VersionsReport => {
    const versions = installed.get(slug) ?? before
    const image = `registry.example/synapse:v${versions.synapse}`
    const services = { synapse: { image, digest: digestOf(image), state: 'running' as const, restartCount: 0 } }
    const managed = boxes.find((box) => box.slug === slug)?.managed ?? true
    const report = { slug, at: isoNow(clock), installed: versions, services: services as never, fenced: false, ownershipEpoch: 1, managed }
    return { ...report, facts: factsOf(versions.synapse), ...said.get(slug) }
  }

  const open = async (): Promise<Command[]> => {
    const rows = await db.selectFrom('commands').select('id').where('status', 'in', ['queued', 'leased', 'running']).orderBy('id').execute()
    return Promise.all(rows.map(({ id }) => commandById(db, id)))
  }

  /** Updates and restores that an agent has and that the daemon abandoned. */
  const lost = async (): Promise<Command[]> => {
    const rows = await db
      .selectFrom('commands')
      .select('id')
      .where('status', '=', 'expired')
      .where('lease_token', '>', 0)
      .where('kind', 'in', ['tenant-box.update', 'tenant-box.restore'])
      .where('result', 'is', null)
      .orderBy('id')
      .execute()
    return Promise.all(rows.map(({ id }) => commandById(db, id)))
  }

  const store = (id: string, change: Record<string, unknown>) =>
    db
      .updateTable('commands')
      .set({ ...change, revision: sql`revision + 1` })
      .where('id', '=', id)
      .execute()

  /** The agent has fetched it. */
  const take = async (id: string) => {
    await store(id, { status: 'running', lease_token: 1, heard_at: isoNow(clock), started_at: isoNow(clock) })
  }

  const tellProgress = async (id: string, step: string, detail?: string) => {
    await store(id, { progress: JSON.stringify([{ step, at: isoNow(clock), ...(detail ? { detail } : {}) }]) })
    deps.bus.changed(id)
  }

  /** The daemon abandons the command. */
  const expire = (id: string) =>
    store(id, { status: 'expired', finished_at: isoNow(clock), error: JSON.stringify({ code: 'COMMAND_EXPIRED', message: 'too late' }) })

  const answer = async (id: string, result: unknown) => {
    await db.transaction().execute(async (tx) => {
      const { status } = await commandById(tx, id)
      const change = { lease_token: 1, heard_at: isoNow(clock), finished_at: isoNow(clock), result: JSON.stringify(result) }
      await tx
        .updateTable('commands')
        .set({ ...change, status: status === 'expired' ? 'expired' : 'succeeded', revision: sql`revision + 1` })
        .where('id', '=', id)
        .execute()
      const command = await commandById(tx, id)
      await side.resultHandlers[command.kind]?.(tx, command, result as never)
    })
    deps.bus.changed(id)
  }

  const refuse = async (id: string, code: string, message: string) => {
    await store(id, { status: 'failed', lease_token: 1, finished_at: isoNow(clock), error: JSON.stringify({ code, message }) })
    deps.bus.changed(id)
  }

  const fateOf = (slug: string) => fates.get(slug)?.[0] ?? 'commits'
  const fulfilled = (slug: string) => fates.get(slug)?.shift()

  const updated = (slug: string, targets: BoxCommandPayload<'tenant-box.update'>['targets']): UpdateResult => {
    const fate = fateOf(slug)
    fulfilled(slug)
    const digestsBefore = { synapse: digestOf(`registry.example/synapse:v${installed.get(slug)?.synapse}`) }
    const image = targets.services.synapse?.image ?? ''
    const snapshotId = fate === 'fails' ? null : keepSnapshot(slug)
    if (fate === 'commits') installed.set(slug, { ...(installed.get(slug) ?? before), synapse: parseImage(image).tag.slice(1) })
    const good = fate === 'commits' || fate === 'lies'
    const outcomes = { 'rolls-back': 'rolled_back', 'rollback-fails': 'rollback_failed', fails: 'failed' } as const
    if (!good && !Object.hasOwn(outcomes, fate)) throw new Error(`an update cannot end as ${fate}`)
    return {
      outcome: good ? 'committed' : outcomes[fate as keyof typeof outcomes],
      snapshotOk: fate !== 'fails',
      updateOk: good,
      healthOk: good,
      rolledBack: fate === 'rolls-back',
      snapshotId,
      snapshotSha256: fate === 'fails' ? null : 'f'.repeat(64),
      durationMs: 200_000,
      fencedMs: 150_000,
      digestsBefore,
      digestsAfter: fate === 'commits' ? { synapse: digestOf(image) } : digestsBefore,
      probes: [aProbe()],
      composeBackup: `compose.yaml.${slug}`,
      ...(fate === 'rolls-back' ? { restored: { from: 'cold-copy' as const, tookMs: 2_000, copiedMs: 900 } } : {}),
      report: reportOf(slug),
      ...(good ? {} : { logs: failureLogs }),
      error: good ? null : { code: 'PROBE_FAILED', message: 'three probes failed' },
    }
  }

  const keepSnapshot = (slug: string): string => {
    const nth = (taken.get(slug) ?? 0) + 1
    taken.set(slug, nth)
    snapshots.set(snapshotIdOf(slug, nth), installed.get(slug) ?? before)
    return snapshotIdOf(slug, nth)
  }

  const restored = (slug: string, snapshotId: string): RestoreResult => {
    const fate = fateOf(slug)
    fulfilled(slug)
    const preRestore = fate === 'fails' ? null : { snapshotId: keepSnapshot(slug), tier: 'pre-restore' as const, ...ofSnapshot(clock) }
    if (fate === 'commits') installed.set(slug, snapshots.get(snapshotId) ?? before)
    const outcomes = { commits: 'restored', lies: 'restored', 'rollback-fails': 'restore_failed' } as const
    const outcome = outcomes[fate as keyof typeof outcomes] ?? 'failed'
    return {
      outcome,
      snapshotId,
      preRestore: preRestore && { ...preRestore, installed: snapshots.get(preRestore.snapshotId) ?? before },
      durationMs: 300_000,
      fencedMs: 250_000,
      probes: [aProbe()],
      report: reportOf(slug),
      error: outcome === 'restored' ? null : { code: 'RESTORE_FAILED', message: 'it did not come up' },
    }
  }

  /** Runs one command of the agent to its end. */
  const work = async ({ id, kind, payload }: Command): Promise<void> => {
    const { slug } = payload as { slug: string }
    const results: { [Kind in BoxCommandKind]?: (given: BoxCommandPayload<Kind>) => BoxCommandResult<Kind> } = {
      'tenant-box.report_versions': () => ({ report: reportOf(slug) }),
      'tenant-box.prefetch': ({ targets }) => ({
        digests: Object.fromEntries(Object.values(targets.services).map(({ image }) => [image, digestOf(image)])),
        pulledMs: 1000,
      }),
      'tenant-box.update': ({ targets }) => updated(slug, targets),
      'tenant-box.restore': ({ snapshotId }) => restored(slug, snapshotId),
    }
    await take(id)
    const fails: Partial<Record<Fate, readonly string[]>> = {
      'pull-fails': ['tenant-box.prefetch'],
      refuses: ['tenant-box.update', 'tenant-box.restore'],
    }
    if (fails[fateOf(slug)]?.includes(kind)) {
      const fate = fulfilled(slug)
      return refuse(id, fate === 'refuses' ? 'COMPOSE_INVALID' : 'PULL_FAILED', 'it could not be done')
    }
    await answer(id, results[kind]?.(payload as never))
  }

  /** Runs engine and agent by turns until both are idle. */
  const settle = async (driver = engine) => {
    for (let turn = 0; turn < 500; turn++) {
      await driver.tick(signal)
      const waiting = await open()
      if (waiting.length === 0) return
      for (const command of waiting) await work(command)
    }
    throw new Error('it never came to rest')
  }

  const show = (id: string): Promise<RolloutDetail> => showRollout(deps, id)
  const started = async (wanted: Partial<Parameters<typeof createRollout>[2]> = {}): Promise<string> => {
    const { id } = await createRollout(deps, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold: 1, ...wanted })
    await startRollout(deps, anOperator, { id })
    return id
  }
  const rollBack = (id: string, boxes: 'none' | 'images' | 'snapshot', change: { skipRefused?: boolean } = {}) =>
    rollbackRollout(deps, anOperator, { id, reason: 'it was no good', boxes, skipRefused: false, ...change })
  const statuses = async (id: string) => Object.fromEntries((await show(id)).actions.map(({ tenantSlug, status }) => [tenantSlug, status]))
  const hosts = [...new Set(boxes.map(({ slug, host }) => host ?? `host-of-${slug}`))]

  return {
    ...{ deps, clock, signal, engine, installed, fates, said, reportOf, side },
    ...{ open, lost, take, tellProgress, expire, answer, refuse, work, settle, show, started, statuses, updated, restored, rollBack },
    /** Records contact with every host, like its keep-alives. */
    heartbeat: async () => {
      for (const host of hosts) await heardOf(room, host)
    },
    tick: (driver = engine) => driver.tick(signal),
    /** Another process with the same database. */
    replica: (owner: string) => makeRolloutEngine({ ...deps, owner }),
    commandIds: async () => (await db.selectFrom('commands').select('id').orderBy('id').execute()).map(({ id }) => id),
  }
}

const ofSnapshot = (clock: BoxesWorld['clock']) => ({
  snapshotSha256: 'e'.repeat(64),
  takenAt: isoNow(clock),
  durationMs: 20_000,
  addedBytes: 1_000,
  files: 10,
})

/** Report fields of a healthy box. */
const factsOf = (synapse: string): VersionsReport['facts'] => {
  const written = synapseSchemaOf(synapseSchemas, synapse)
  const unknown = { collation: null, libc: null, mediaBytes: null, objectBytes: null, freeDiskBytes: null }
  const compose = { otherServices: null, wouldRecreate: null, composeChanged: null, notRestorable: null, scaledServices: null }
  const schema = { schemaVersion: written?.schema ?? null, compatVersion: written?.compat ?? null }
  const hotCopy = {
    ...{ major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
    ...{ checksumFailures: 0, tablespaces: 0 },
  }
  return { ...schema, backgroundUpdates: [], ...unknown, ...compose, hotCopy }
}

async function insertBox(
  { db, clock }: BoxesWorld,
  { slug, plan = 'light', host, canary = false, managed = true }: BoxSpec,
): Promise<void> {
  const at = isoNow(clock)
  await db
    .insertInto('tenants')
    .values({ id: `ten_${slug}`, slug, chat_domain: `${slug}.example`, name: slug, plan, status: 'active', created_at: at })
    .execute()
  await db
    .insertInto('boxes')
    .values({
      id: `box_${slug}`,
      tenant_id: `ten_${slug}`,
      host_id: `hst_${host ?? `host-of-${slug}`}`,
      slug,
      live: 1,
      managed: managed ? 1 : 0,
      canary: canary ? 1 : 0,
      fenced: 0,
      ownership_epoch: 1,
      public_url: `https://${slug}.example`,
      internal_url: null,
      first_port: null,
      folder: null,
      project: null,
      findings: '[]',
      set_up_command: `cmd_${slug}`,
      set_up_attempt: 1,
      installed_migrations_head: before.migrationsHead,
      installed_postgres: before.postgres,
      installed_synapse: before.synapse,
      installed_minio: before.minio,
      database_bytes: null,
      last_report: null,
      reported_at: at,
      last_probe: null,
      drift_report: null,
      drift_severity: 'unknown',
      drift_revision: 0,
      last_drift_check_at: null,
      created_at: at,
    })
    .execute()
}

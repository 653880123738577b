import { boxesContract } from '../../src/core/boxes/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { quotasInBytes } from '../../src/core/files/index.ts'
import { type AdminActor, isoNow, type ManualClock, manualClock } from '../../src/core/kit/index.ts'
import { tenantsContract } from '../../src/core/tenants/index.ts'
import { applyManifest, type BoxesDeps, boxById, boxesRoutes, boxPort } from '../../src/daemon/boxes/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { fileUsageOf } from '../../src/daemon/files/index.ts'
import { commandById, makeCommandBus, notifyFailures } from '../../src/daemon/hosts/index.ts'
import { keyring } from '../../src/daemon/sealed/index.ts'
import { snapshotListener, snapshotsOfBox } from '../../src/daemon/snapshots/index.ts'
import { tenantsRoutes } from '../../src/daemon/tenants/index.ts'
import { systemRandom } from '../../src/node/index.ts'
import { aManifest, aProbe, aReport } from './boxes.ts'
import { servedApp } from './served-app.ts'

export const anOperator: AdminActor = { kind: 'admin', accountId: 'acc_1', name: 'anna', role: 'operator', sessionId: 'ses_1' }

export type BoxesWorld = BoxesDeps & Readonly<{ clock: ManualClock; keyring: ReturnType<typeof keyring> }>

/** The deps of the boxes feature over an empty database, with a manifest and one host, `host-1`, whose agent has just reported. */
export async function aBoxesWorld(db: Db): Promise<BoxesWorld> {
  const clock = manualClock()
  const room: BoxesWorld = {
    db,
    clock,
    random: systemRandom,
    bus: makeCommandBus(),
    keyring: keyring([Buffer.alloc(32, 1).toString('base64')]),
    firstPort: 18_000,
    probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
    staleAfterMs: 26 * 3_600_000,
    offlineAfterMs: 90_000,
    migrations: [],
    keepRemovedMs: 30 * 86_400_000,
    workMs: 6 * 3_600_000,
    fenceMaxMs: 15 * 60_000,
    assertSnapshotsConfigured: () => undefined,
    newestSnapshot: async () => undefined,
    isStored: async () => true,
    onCommandAbandoned: (tx, { id }) =>
      notifyFailures(tx, snapshotListener({ clock, random: systemRandom, deadlineMs: 1, versionsBefore: async () => null }), [id]),
    snapshotsOfBox,
    snapshots: { free: 'hot', pro: 'hot', enterprise: 'hot' },
    windows: { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } },
  }
  await applyManifest(room, anOperator, aManifest())
  await aHost(room, 'host-1')
  return room
}

export async function aHost(
  { db, clock }: BoxesWorld,
  name: string,
  change: { status?: 'active' | 'revoked' | 'frozen' } = {},
): Promise<string> {
  const id = `hst_${name}`
  await db
    .insertInto('hosts')
    .values({
      id,
      name,
      status: change.status ?? 'active',
      reason: null,
      key_id: `key_${name}`,
      public_key: '{}',
      instance_id: null,
      retired_instances: '[]',
      enrolled_at: isoNow(clock),
      last_seen_at: isoNow(clock),
      agent_version: null,
      protocol_version: 1,
      engine: null,
      resources: null,
    })
    .execute()
  return id
}

export const heardOf = ({ db, clock }: BoxesWorld, name = 'host-1') =>
  db
    .updateTable('hosts')
    .set({ last_seen_at: isoNow(clock) })
    .where('name', '=', name)
    .execute()

/** Finishes the command like the channel does: stores the result and calls its handler. */
export async function answerCommand(room: BoxesWorld, commandId: string, result: unknown): Promise<void> {
  const side = boxPort({ ...room, secretsFor: async () => ({}) })
  await room.db.transaction().execute(async (tx) => {
    await tx.updateTable('commands').set({ status: 'succeeded' }).where('id', '=', commandId).execute()
    const command = await commandById(tx, commandId)
    await side.resultHandlers[command.kind]?.(tx, command, result as never)
  })
}

export const failCommand = ({ db }: BoxesWorld, commandId: string, status: 'failed' | 'expired' = 'failed') =>
  db
    .updateTable('commands')
    .set({ status, error: JSON.stringify({ code: 'PULL_FAILED', message: 'no such tag' }) })
    .where('id', '=', commandId)
    .execute()

/** A live box that has just reported. */
export async function aLiveBox(room: BoxesWorld, slug: string, change: { plan?: 'light' | 'pro' | 'dedicated'; host?: string } = {}) {
  const api = await anApi(room)
  const { plan = 'light', host = 'host-1' } = change
  const { box, commandId } = await api.provisionBox({ body: { slug, name: `School ${slug}`, plan, chatDomain: `${slug}.example`, host } })
  await answerCommand(room, commandId, { report: aReport(slug, { at: isoNow(room.clock) }), probe: aProbe() })
  const record = await boxById(room.db, box.boxId as never)
  if (!record) throw new Error('the box was not made')
  return record
}

/** Live boxes in bulk; every third has an outdated Synapse. */
export async function manyBoxes({ db, clock }: BoxesWorld, count: number): Promise<void> {
  const at = isoNow(clock)
  const numbers = Array.from({ length: count }, (_, number) => `t${String(number).padStart(5, '0')}`)
  const empty = {
    managed: 1,
    canary: 0,
    fenced: 0,
    ownership_epoch: 1,
    findings: '[]',
    set_up_attempt: 1,
    drift_severity: 'unknown' as const,
  }
  const installed = { installed_migrations_head: '0000', installed_postgres: '17.6', installed_minio: 'RELEASE.2025-09-07T16-13-09Z' }
  for (let from = 0; from < count; from += 500) {
    const slugs = numbers.slice(from, from + 500)
    await db
      .insertInto('tenants')
      .values(
        slugs.map((slug) => ({
          id: `ten_${slug}`,
          slug,
          chat_domain: `${slug}.example`,
          name: slug,
          plan: 'light' as const,
          status: 'active' as const,
          created_at: at,
        })),
      )
      .execute()
    await db
      .insertInto('boxes')
      .values(
        slugs.map((slug) => ({
          ...empty,
          ...installed,
          installed_synapse: Number(slug.slice(1)) % 3 === 0 ? '1.150.0' : '1.157.1',
          id: `box_${slug}`,
          tenant_id: `ten_${slug}`,
          host_id: 'hst_host-1',
          slug,
          live: 1,
          public_url: `https://${slug}.example`,
          internal_url: null,
          first_port: null,
          folder: null,
          project: null,
          set_up_command: `cmd_${slug}`,
          database_bytes: null,
          last_report: null,
          reported_at: at,
          last_probe: null,
          drift_report: null,
          drift_revision: 0,
          last_drift_check_at: null,
          created_at: at,
        })),
      )
      .execute()
  }
}

/** The typed client of the feature's endpoints over HTTP; every response is checked against the contract. */
export async function anApi(room: BoxesWorld) {
  const served = [
    ...boxesRoutes(room),
    ...tenantsRoutes({ ...room, fileUsageOf: fileUsageOf(quotasInBytes({ light: 1, pro: 2, dedicated: 3 })) }),
  ]
  const { url: baseUrl } = await servedApp(served, { authenticate: { admin: async () => anOperator }, clock: room.clock })
  return makeClient({ ...boxesContract, ...tenantsContract }, { baseUrl, headers: () => ({ connection: 'close' }) })
}

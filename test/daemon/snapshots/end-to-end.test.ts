import { expect, onTestFinished, test } from 'vitest'
import type { DrillResult, RestoreResult } from '../../../src/core/boxes/index.ts'
import type { Clock } from '../../../src/core/kit/index.ts'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { after, before, manifestWith } from '../../../src/demo/fleet.ts'
import { runSimulatedAgent } from '../../../src/demo/simulated-agent.ts'
import { systemClock } from '../../../src/node/index.ts'
import { aFolder, aKey, aRunningDaemon, clientOf, loggedIn } from '../../support/running-daemon.ts'

/** Shortens the sleeps of the daemon's loops, so that queued work runs at once. */
const restless: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 300), signal) }

/** A whole daemon, a whole agent on a simulated host, one box. */
async function setUp() {
  const env = { TENANTRY_PROBE_SPACING_MS: '1000', TENANTRY_RECOVERY_KEY: aKey(), TENANTRY_ROLLOUTS_POLL_MS: '200' }
  const daemon = await aRunningDaemon({ clock: restless, env })
  const api = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
  const { token } = await api.hosts.inviteHost({ body: { name: 'amsel' } })
  const leaving = new AbortController()
  const folder = await aFolder('amsel')
  const agent = runSimulatedAgent({
    name: 'amsel',
    daemonUrl: daemon.url,
    token,
    folder,
    faults: [],
    vaults: new Map(),
    signal: leaving.signal,
  })
  onTestFinished(async () => {
    leaving.abort()
    await agent
    await daemon.close()
  })
  await expect.poll(async () => (await api.hosts.listHosts()).hosts.map(({ status }) => status)).toEqual(['online'])
  await api.boxes.applyManifest({ body: { manifest: manifestWith(before) } })
  const wanted = { slug: 'north', name: 'North School', plan: 'light', chatDomain: 'north.example', host: 'amsel' } as const
  await done((await api.boxes.provisionBox({ body: wanted })).commandId)
  async function done<Result>(commandId: string): Promise<Result> {
    const command = () => api.hosts.showCommand({ params: { id: commandId }, query: { waitMs: 5000 } })
    await expect.poll(async () => (await command()).status).toMatch(/succeeded|failed|expired/)
    const { error, result } = await command()
    expect(error).toBe(null)
    return result as Result
  }
  const list = async () => (await api.snapshots.listSnapshots()).snapshots
  const updated = async () => {
    await api.boxes.applyManifest({ body: { manifest: manifestWith(after) } })
    const { id } = await api.rollouts.createRollout({ body: {} })
    await api.rollouts.startRollout({ params: { id } })
    await expect.poll(async () => (await api.rollouts.getRollout({ params: { id } })).status, { timeout: 120_000 }).toBe('done')
  }
  const { db, close } = openDatabase(daemon.config.databaseUrl)
  onTestFinished(close)
  const tended = async () =>
    (await db.selectFrom('commands').select('status').where('kind', '=', 'tenant-box.tend_snapshots').execute()).map(({ status }) => status)
  return { api, done, list, updated, tended }
}

const north = { params: { slug: 'north' } }

test('snapshot, drill, update, restore and prune work end to end', async () => {
  const { api, done, list, updated, tended } = await setUp()
  await done((await api.snapshots.takeSnapshot(north)).commandId)
  const [taken] = await list()
  expect(taken).toMatchObject({ slug: 'north', tier: 'manual', status: 'present', installed: { synapse: before } })

  const drilled = await done<DrillResult>((await api.snapshots.drillBox({ ...north, body: {} })).commandId)
  const media = { files: 0, sampled: 0, hashed: 0 }
  expect(drilled).toMatchObject({ ok: true, snapshotId: taken?.snapshotId, media })
  expect((await list())[0]?.lastDrill).toMatchObject({ ok: true, media })
  expect(await api.boxes.showBox(north)).toMatchObject({
    lastSnapshot: { snapshotId: taken?.snapshotId },
    lastProvenRestore: { snapshotId: taken?.snapshotId, durationMs: expect.any(Number) },
  })

  await updated()
  expect((await list()).map(({ tier }) => tier)).toEqual(['pre-update', 'manual'])
  expect((await api.boxes.showBox(north)).installed.synapse).toBe(after)

  const body = { snapshotId: taken?.snapshotId ?? '', reason: 'the new version lost a bridge' }
  const asked = await api.snapshots.restoreBox({ ...north, body })
  expect((await api.boxes.showBox(north)).heldBy).toBe(`restore:${asked.commandId}`)
  expect(await done<RestoreResult>(asked.commandId)).toMatchObject({ outcome: 'restored', error: null })
  expect(await api.boxes.showBox(north)).toMatchObject({ heldBy: null, fenced: false, installed: { synapse: before } })
  expect((await list()).map(({ tier }) => tier)).toEqual(['pre-restore', 'pre-update', 'manual'])

  await api.crons.triggerCron({ params: { jobKey: 'snapshot-check' } })
  await api.crons.triggerCron({ params: { jobKey: 'snapshot-prune' } })
  await expect.poll(tended).toEqual(['succeeded', 'succeeded'])
  expect((await list()).map(({ status }) => status)).toEqual(['present', 'present', 'present'])
})

import { expect, test } from 'vitest'
import type { BoxId, HostId } from '../../../src/core/boxes/index.ts'
import { isoNow, isProblem } from '../../../src/core/kit/index.ts'
import {
  applyManifest,
  applyReports,
  boxById,
  boxesInScope,
  boxesJobs,
  boxPort,
  boxSecret,
  detectDrift,
  holdBox,
  importManifest,
  manifestByRevision,
  releaseHold,
} from '../../../src/daemon/boxes/index.ts'
import { commandById } from '../../../src/daemon/hosts/index.ts'
import { aManifest, aReport } from '../../support/boxes.ts'
import { aBoxesWorld, aHost, aLiveBox, anApi, anOperator, type BoxesWorld, heardOf, manyBoxes } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'

const code = async (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const hourMs = 3_600_000
const say = (room: BoxesWorld, hostId: string, ...reports: ReturnType<typeof aReport>[]) =>
  room.db.transaction().execute((tx) => applyReports({ tx, clock: room.clock }, hostId as HostId, reports))

onBothDialects('the registry of boxes', (fresh) => {
  test('a new manifest shows as drift at once, per component and for the box', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'north')
    const api = await anApi(room)
    expect(await api.applyManifest({ body: { manifest: aManifest({ synapse: '1.163.2' }) } })).toMatchObject({ revision: 2, changed: true })
    const { boxes } = await api.listBoxes({ query: { severity: 'minor' } })
    expect(boxes).toMatchObject([
      { slug: 'north', severity: 'minor', components: { synapse: 'minor', postgres: 'none' }, last_drift_check_at: isoNow(room.clock) },
    ])
    const { driftReport } = await api.showBox({ params: { slug: 'north' } })
    expect(driftReport?.components.find((item) => item.component === 'synapse')?.explanation).toBe('a minor version behind the manifest')
  })

  test('a box shows how its next update copies the database, and what a copy while it serves lacks', async () => {
    const room = await aBoxesWorld(await fresh())
    const { hostId } = await aLiveBox(room, 'north')
    const choice = async () => (await (await anApi(room)).showBox({ params: { slug: 'north' } })).updateCopy
    expect(await choice()).toMatchObject({ mode: 'before', reason: expect.stringMatching(/did not report/) })
    const unknown = { schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null }
    const file = { otherServices: null, wouldRecreate: null, composeChanged: null, notRestorable: null, scaledServices: null }
    const settings = { major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true }
    const hotCopy = { ...settings, checksumFailures: 0, tablespaces: 0 }
    const facts = { ...unknown, ...file, objectBytes: null, hotCopy }
    const report = (freeDiskBytes: number) =>
      say(room, hostId, aReport('north', { at: isoNow(room.clock), databaseBytes: 5e9, facts: { ...facts, freeDiskBytes } }))
    await report(11e9)
    expect(await choice()).toEqual({ mode: 'hot' })
    await report(9e9)
    expect(await choice()).toEqual({ mode: 'before', reason: 'its disk has no room for a copy of the database' })
  })

  test('a handed-over box keeps its last versions', async () => {
    const room = await aBoxesWorld(await fresh())
    const { hostId, id } = await aLiveBox(room, 'north')
    const columns = ['installed_synapse', 'installed_postgres', 'database_bytes', 'drift_severity', 'drift_report'] as const
    const known = () => room.db.selectFrom('boxes').select(columns).executeTakeFirstOrThrow()
    await say(room, hostId, aReport('north', { at: isoNow(room.clock), databaseBytes: 5e9 }))
    const before = await known()
    const nothing = { migrationsHead: '', postgres: '', synapse: '', minio: '' }
    await say(
      room,
      hostId,
      aReport('north', { at: isoNow(room.clock), installed: nothing, databaseBytes: 0, fenced: true, handedOver: true }),
    )
    expect(await known()).toEqual(before)
    expect((await boxById(room.db, id))?.fenced).toBe(true)
  })

  test('a box with a stale report or an offline host has unknown drift, in lists and for the job', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'north')
    const api = await anApi(room)
    const show = async () => (await api.listBoxes()).boxes.map(({ severity, freshness }) => ({ severity, freshness }))
    await room.clock.advance(2 * 60_000)
    expect(await show()).toEqual([{ severity: 'unknown', freshness: 'offline' }])
    expect((await api.listBoxes({ query: { severity: 'none' } })).boxes).toEqual([])
    expect((await api.listBoxes({ query: { severity: 'unknown' } })).boxes).toHaveLength(1)
    expect(await api.countBoxes()).toMatchObject({
      boxes: 1,
      health: { unknown: 1, running: 0 },
      drift: { none: 0, minor: 0, major: 0, unknown: 1 },
      fenced: 0,
    })
    await heardOf(room)
    expect(await show()).toEqual([{ severity: 'none', freshness: 'fresh' }])
    await room.clock.advance(27 * hourMs)
    await heardOf(room)
    expect(await show()).toEqual([{ severity: 'unknown', freshness: 'stale' }])
    expect(await detectDrift(room)).toBe('1 box checked: 1 unknown')
    expect((await api.showBox({ params: { slug: 'north' } })).driftReport).toMatchObject({ severity: 'unknown', freshness: 'stale' })
  })

  test('a report counts only from the host of the box, with its epoch, and not when it is older', async () => {
    const room = await aBoxesWorld(await fresh())
    const other = await aHost(room, 'host-2')
    const box = await aLiveBox(room, 'north')
    const installed = (synapse: string) => ({ installed: { ...aManifest().tiers.free, synapse } })
    const synapse = async () => (await boxById(room.db, box.id))?.installed.synapse
    await say(room, other, aReport('north', installed('6.6.6')))
    await say(room, box.hostId, aReport('north', { ...installed('6.6.6'), ownershipEpoch: 2 }))
    await say(room, box.hostId, aReport('north', { ...installed('6.6.6'), at: '2026-01-05T01:00:00.000Z' }))
    await say(room, box.hostId, aReport('nobody', installed('6.6.6')))
    expect(await synapse()).toBe('1.157.1')
    await say(room, box.hostId, aReport('north', { ...installed('1.163.2'), at: '2036-01-01T00:00:00.000Z', databaseBytes: 5e9 }))
    expect(await boxById(room.db, box.id)).toMatchObject({
      reportedAt: isoNow(room.clock),
      databaseBytes: 5e9,
      installed: { synapse: '1.163.2' },
    })
  })

  test('the job checks a large fleet completely, in chunks', async () => {
    const room = await aBoxesWorld(await fresh())
    await manyBoxes(room, 1203)
    const started = isoNow(room.clock)
    expect(await detectDrift(room)).toBe('1203 boxes checked: 802 in sync, 401 minor drift')
    const checked = await room.db.selectFrom('boxes').select('drift_severity').where('last_drift_check_at', '=', started).execute()
    expect(checked.filter((box) => box.drift_severity === 'minor')).toHaveLength(401)
  })

  test('lists are filtered and paged by slug', async () => {
    const room = await aBoxesWorld(await fresh())
    await aHost(room, 'host-2')
    await aLiveBox(room, 'alpha', { plan: 'pro' })
    await aLiveBox(room, 'beta')
    await aLiveBox(room, 'gamma', { plan: 'dedicated', host: 'host-2' })
    const api = await anApi(room)
    const slugs = async (query: Parameters<typeof api.listBoxes>[0]) => (await api.listBoxes(query)).boxes.map(({ slug }) => slug)
    expect(await slugs({ query: { tier: 'pro' } })).toEqual(['alpha'])
    expect(await slugs({ query: { host: 'host-2' } })).toEqual(['gamma'])
    expect(await slugs({ query: { slug: 'et' } })).toEqual(['beta'])
    const first = await api.listBoxes({ query: { limit: 2 } })
    expect(first.nextCursor).toBe('beta')
    expect(await slugs({ query: { limit: 2, cursor: 'beta' } })).toEqual(['gamma'])
    expect(await code(api.listBoxes({ query: { host: 'nowhere' } }))).toBe('NOT_FOUND')
  })

  test('a scan queries online agents and names the unreachable ones', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'alpha')
    await aHost(room, 'host-2')
    await aLiveBox(room, 'beta', { host: 'host-2' })
    await room.clock.advance(2 * 60_000)
    await heardOf(room, 'host-1')
    const api = await anApi(room)
    const { commands, unreachable } = await api.scanBoxes({ body: {} })
    expect(commands).toMatchObject([{ slug: 'alpha' }])
    expect(unreachable).toEqual([{ slug: 'beta', host: 'host-2' }])
    expect((await commandById(room.db, commands[0]?.commandId ?? '')).kind).toBe('tenant-box.report_versions')
    await expect(api.scanBoxes({ body: { slugs: ['alpha', 'nobody'] } })).rejects.toThrow(/box nobody does not exist/)
    for (const unknown of [() => api.scanBoxes({ body: { slugs: ['nobody'] } }), () => api.showBox({ params: { slug: 'nobody' } })])
      await expect(unknown()).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: 'box nobody does not exist. fix: `tenantry boxes list`',
      })
    expect((await api.scanBoxes({ body: { slugs: ['beta', 'alpha', 'alpha'] } })).commands).toMatchObject([{ slug: 'alpha' }])
    const check = () => api.checkBox({ params: { slug: 'beta' } })
    await expect(check()).rejects.toMatchObject({ code: 'HOST_OFFLINE', message: expect.stringMatching(/start its agent/) })
    await room.db.updateTable('hosts').set({ status: 'revoked' }).where('name', '=', 'host-2').execute()
    // Restarting the agent of a revoked host is no fix.
    await expect(check()).rejects.toMatchObject({
      code: 'HOST_OFFLINE',
      message: expect.stringMatching(/is revoked. fix: `tenantry hosts invite host-2`/),
    })
    const { commandId } = await api.checkBox({ params: { slug: 'alpha' } })
    expect((await commandById(room.db, commandId)).kind).toBe('tenant-box.healthcheck')
  })

  test('drift at minute 7 of every hour, version sync at 03:30, sizes at 03:50, certificates at 06:20; none sends an update', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'alpha')
    await room.db.deleteFrom('commands').execute()
    const jobs = boxesJobs(room)
    expect(jobs.map(({ key, expression }) => [key, expression])).toEqual([
      ['tenant-box-drift-detection', '7 * * * *'],
      ['tenant-box-version-sync', '30 3 * * *'],
      ['box-sizes', '50 3 * * *'],
      ['box-certificates', '20 6 * * *'],
    ])
    const { signal } = new AbortController()
    const said = await Promise.all(jobs.slice(0, 2).map((job) => job.run({ signal })))
    expect(said).toEqual(['1 box checked: 1 in sync', '1 box queried, 0 unreachable'])
    const commands = await room.db.selectFrom('commands').select('kind').execute()
    expect(commands).toEqual([{ kind: 'tenant-box.report_versions' }])
  })

  test('only live boxes are in scope of rollouts; scan and check refuse one that is not ready', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'alpha', { plan: 'dedicated' })
    const api = await anApi(room)
    await api.provisionBox({ body: { slug: 'beta', name: 'B', plan: 'light', chatDomain: 'b.example', host: 'host-1' } })
    expect(await boxesInScope(room.db)).toMatchObject([{ slug: 'alpha', tier: 'enterprise', managed: true }])
    const notReady = { code: 'CONFLICT', message: expect.stringMatching(/^box beta is not ready yet. Reason: `tenantry boxes show beta`/) }
    await expect(api.scanBoxes({ body: { slugs: ['alpha', 'beta'] } })).rejects.toMatchObject(notReady)
    await expect(api.checkBox({ params: { slug: 'beta' } })).rejects.toMatchObject(notReady)
  })

  test('marking and unmarking a canary is audited with the actor', async () => {
    const room = await aBoxesWorld(await fresh())
    await aLiveBox(room, 'alpha')
    const api = await anApi(room)
    expect((await api.changeBox({ params: { slug: 'alpha' }, body: { canary: true } })).canary).toBe(true)
    expect((await api.listBoxes()).boxes[0]?.canary).toBe(true)
    const last = await room.db.selectFrom('audit').selectAll().orderBy('seq', 'desc').executeTakeFirst()
    expect(last).toMatchObject({ action: 'box.canary', subject: 'alpha', actor: 'admin:anna' })
    expect(await code(api.changeBox({ params: { slug: 'nobody' }, body: { canary: true } }))).toBe('NOT_FOUND')
  })

  test('a box has one hold; the next is possible after release or expiry', async () => {
    const room = await aBoxesWorld(await fresh())
    const { id } = await aLiveBox(room, 'alpha')
    const hold = (holder: string, until = '2026-01-05T03:00:00.000Z') =>
      room.db.transaction().execute((tx) => holdBox(tx, room.clock, { boxId: id, holder, until }))
    await hold('rollout:r1')
    await hold('rollout:r1', '2026-01-05T03:30:00.000Z')
    expect(await code(hold('restore x'))).toBe('BOX_HELD')
    await expect(hold('restore x')).rejects.toThrow(/box alpha is on hold: rollout r1 \(until 2026-01-05T03:30/)
    expect((await (await anApi(room)).listBoxes()).boxes[0]).toMatchObject({ heldBy: 'rollout:r1' })
    await room.db.transaction().execute((tx) => releaseHold(tx, { boxId: id, holder: 'somebody else' }))
    expect(await code(hold('restore x'))).toBe('BOX_HELD')
    await room.clock.advance(2 * hourMs)
    await hold('restore x', '2026-01-05T09:00:00.000Z')
    await room.db.transaction().execute((tx) => releaseHold(tx, { boxId: id, holder: 'restore x' }))
    await hold('rollout r2', '2026-01-05T09:00:00.000Z')
  })

  test('delivered secrets are sealed, and unsealed only for their box', async () => {
    const room = await aBoxesWorld(await fresh())
    const { id } = await aLiveBox(room, 'alpha')
    const side = boxPort({ ...room, secretsFor: async () => ({}) })
    const deliver = (edgeSecret: string) =>
      room.db.transaction().execute((tx) => side.acceptOutputs(tx, { boxId: id } as never, { edgeSecret }))
    await deliver('first')
    await deliver('hunter2')
    const stored = await room.db.selectFrom('box_secrets').selectAll().execute()
    expect(stored).toHaveLength(1)
    expect(JSON.stringify(stored)).not.toContain('hunter2')
    expect((await boxSecret({ ...room, db: room.db }, id, 'edgeSecret'))?.reveal()).toBe('hunter2')
    expect(await boxSecret({ ...room, db: room.db }, 'box_other' as BoxId, 'edgeSecret')).toBeUndefined()
    expect(await side.mayAct(room.db, { boxId: id, kind: 'tenant-box.report_versions', payload: {} }, 'hst_host-1')).toBe(true)
    expect(await side.mayAct(room.db, { boxId: 'box_other', kind: 'tenant-box.report_versions', payload: {} }, 'hst_host-1')).toBe(false)
  })
})

onBothDialects('the manifest', (fresh) => {
  test('the same content keeps its revision, other content gets the next, older content too', async () => {
    const room = await aBoxesWorld(await fresh())
    const apply = (synapse: string) => applyManifest(room, anOperator, aManifest({ synapse }))
    expect(await apply('1.157.1')).toMatchObject({ revision: 1, changed: false })
    expect(await apply('1.163.2')).toMatchObject({ revision: 2, changed: true })
    expect(await apply('1.157.1')).toMatchObject({ revision: 3, changed: true })
    expect((await manifestByRevision(room.db, 2)).manifest.tiers.pro.synapse).toBe('1.163.2')
    const actions = await room.db.selectFrom('audit').select('action').where('action', 'like', 'manifest%').orderBy('seq').execute()
    expect(actions.map(({ action }) => action)).toEqual(['manifest.applied', 'manifest.unchanged', 'manifest.applied', 'manifest.applied'])
  })

  test('the API shows, compares, applies and lists manifests; an invalid one changes nothing', async () => {
    const room = await aBoxesWorld(await fresh())
    const api = await anApi(room)
    const manifest = aManifest({ synapse: '1.163.2' })
    expect((await api.diffManifest({ body: { manifest } })).changes).toHaveLength(3)
    expect((await api.showManifest()).revision).toBe(1)
    await api.applyManifest({ body: { manifest } })
    const page = await api.listManifestRevisions({ query: { limit: 1 } })
    expect(page).toMatchObject({ revisions: [{ revision: 2, appliedBy: 'admin:anna' }], nextCursor: '2' })
    expect((await api.listManifestRevisions({ query: { cursor: '2' } })).revisions).toMatchObject([{ revision: 1 }])
    expect(await code(api.listManifestRevisions({ query: { cursor: 'x' } }))).toBe('VALIDATION')
    expect(await code(api.applyManifest({ body: { manifest: aManifest({ synapse: 'latest' }) } }))).toBe('MANIFEST_INVALID')
    expect(await code(api.applyManifest({ body: { manifest: aManifest({ migrationsHead: '0001' }) } }))).toBe('MANIFEST_INVALID')
    expect(await code(api.diffManifest({ body: { manifest: aManifest({ migrationsHead: '0001' }) } }))).toBe('MANIFEST_INVALID')
    expect(await code(api.applyManifest({ body: {} as never }))).toBe('VALIDATION')
    expect((await api.showManifest()).revision).toBe(2)
  })

  test('the file is imported at the first start only', async () => {
    const room = { ...(await aBoxesWorld(await fresh())) }
    await room.db.deleteFrom('manifests').execute()
    expect(await code(importManifest(room, 'a: [')).catch(String)).toBe('MANIFEST_INVALID')
    expect(await importManifest(room, JSON.stringify(aManifest()))).toBe(true)
    expect(await importManifest(room, JSON.stringify(aManifest({ synapse: '9.9.9' })))).toBe(false)
    const last = await room.db.selectFrom('audit').selectAll().orderBy('seq', 'desc').executeTakeFirst()
    expect(last).toMatchObject({ action: 'manifest.applied', actor: 'system:start' })
  })
})

import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { recordEvent } from '../../../src/daemon/events/index.ts'
import { writeDocuments } from '../../../src/daemon/modules/documents.repo.ts'
import type { ModulesDeps } from '../../../src/daemon/modules/index.ts'
import { findInstallation } from '../../../src/daemon/modules/installations.repo.ts'
import { settingsOfRun } from '../../../src/daemon/modules/module-settings.ts'
import { dueServices } from '../../../src/daemon/modules/services/due-services.ts'
import { storeUpstream } from '../../../src/daemon/modules/services/upstreams.repo.ts'
import { onBothDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { aManifest, aModulesWorld, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const params = { moduleId: 'attendance' }
const dayMs = 86_400_000
const settings = {
  type: 'object',
  properties: { startHour: { type: 'integer', minimum: 0, maximum: 23, default: 8 }, token: { type: 'string', kind: 'secret' } },
  required: ['token'],
}

/** An active `attendance` 1.0.0 in a tenant; a migration copies its documents to the next generation. */
async function anActive(db: Parameters<typeof aModulesWorld>[0], changed: Partial<ModulesDeps> = {}) {
  const migrated: string[] = []
  const room = await aModulesWorld(db, {
    deps: {
      prepare: async ({ installation: { dataGeneration, dataBytes, dataVersion }, manifest, target }) => {
        if (manifest.dataVersion === dataVersion) return { dataGeneration, dataVersion, dataBytes }
        migrated.push(`${dataGeneration} -> ${target}`)
        await room.addDocuments('attendance', target, ['migrated'])
        return { dataGeneration: target, dataVersion: manifest.dataVersion, dataBytes: 2 }
      },
      ...changed,
    },
  })
  await approve(db, aManifest({ settings }), 'ten_two')
  const mia = room.as('mia')
  await mia.installModule({ body: { ...params, approvedPermissions: ['spaces:read'] } })
  await mia.activateModule({ params })
  return { ...room, mia, migrated, publish: (changed: object) => approve(db, aManifest({ settings, ...changed }), 'ten_two') }
}

onBothDialects('updates of modules', (fresh) => {
  test('a version with another permission is refused with the difference until it is approved, and rolled back with its data', async () => {
    const room = await anActive(await fresh())
    const { mia } = room
    await room.addDocuments('attendance', 0, ['old'])
    const declared = ['events:publish', 'events:subscribe', 'files:read']
    await room.publish({ version: '2.0.0', permissions: declared, dataVersion: 1, events: { subscribes: [] } })
    expect((await mia.showInstallation({ params })).updateAvailable).toBe('2.0.0')
    const refused = await mia.updateModule({ params }).catch((error) => error)
    expect(refused).toMatchObject({ code: 'PERMISSIONS_CHANGED', status: 409 })
    expect(refused.toBody()).toMatchObject({ added: ['events:publish', 'files:read'], removed: ['spaces:read'] })
    expect((await room.row()).version).toBe('1.0.0')
    expect(await codeOf(mia.updateModule({ params, body: { approvedPermissions: ['files:write'] } }))).toBe('PERMISSION_NOT_DECLARED')

    const before = await room.row()
    const updated = await mia.updateModule({ params, body: { approvedPermissions: ['files:read'] } })
    expect(updated).toEqual({ success: true, version: '2.0.0', permissions: ['files:read'] })
    expect(room.migrated).toHaveLength(1)
    const row = await room.row()
    expect(row.generation).toBeGreaterThan(before.generation)
    expect(row).toMatchObject({ version: '2.0.0', status: 'active', data_version: 1, busy_until: null })
    const shown = await mia.showInstallation({ params })
    expect(shown).toMatchObject({ permissions: ['files:read'], updateAvailable: null, rollback: { version: '1.0.0' } })
    expect(shown.rollback?.losesDataSince).not.toBeNull()
    expect((await mia.bootstrap()).modules[0]?.version).toBe('2.0.0')
    expect(await mia.updateModule({ params })).toEqual(updated)

    const back = await mia.rollbackModule({ params })
    expect(back).toEqual({ success: true, version: '1.0.0', losesDataSince: shown.rollback?.losesDataSince })
    expect(await room.row()).toMatchObject({ version: '1.0.0', data_generation: 0, data_version: 0, former: null })
    expect((await mia.showInstallation({ params })).permissions).toEqual(['spaces:read'])
    await room.runJobs()
    expect(await room.documents()).toEqual(['ten_one attendance 0 old'])
    expect((await room.events()).map(({ type }) => type).slice(-2)).toEqual(['module.updated', 'module.rolled_back'])
    expect((await room.audited()).slice(-2)).toEqual(['module.updated one', 'module.rolled_back one'])
    expect(await codeOf(mia.rollbackModule({ params }))).toBe('INVALID_TRANSITION')
  })

  test('a version at its developer needs consent; rolled back or updated to one that runs here, no service is to get its events', async () => {
    const dataProcessing = { operator: 'Acme', country: 'DE', privacyUrl: 'https://acme.example' }
    const remote = { remote: 'confirmed', upstreamHost: 'acme.example' } as const
    const prepare: ModulesDeps['prepare'] = async ({ installation: { dataGeneration, dataBytes }, manifest }) => ({
      ...{ dataGeneration, dataBytes, dataVersion: manifest.dataVersion, ...(manifest.type === 'B' ? remote : {}) },
    })
    const room = await anActive(await fresh(), { prepare })
    const { mia, db, clock } = room
    const service = { moduleId: 'attendance', url: 'https://acme.example', sealedSecret: 'sealed' }
    await db.transaction().execute((tx) => storeUpstream(tx, clock, service))
    const due = async () => {
      const happened = { tenantId: 'ten_one', type: 'space.created', payload: { spaceId: 'spc_1' }, audience: 'tenant' } as const
      await db.transaction().execute((tx) => recordEvent(tx, clock, happened))
      return dueServices(db, isoNow(clock))
    }
    await room.publish({ version: '2.0.0', type: 'B', dataProcessing })
    expect(await codeOf(mia.updateModule({ params }))).toBe('PERMISSIONS_CHANGED')
    const approvedPermissions = ['spaces:read', 'events:subscribe']
    const update = () => mia.updateModule({ params, body: { approvedPermissions } })
    await update()
    expect([(await mia.showInstallation({ params })).remote, await due()]).toEqual(['confirmed', ['attendance']])
    await mia.rollbackModule({ params })
    expect([(await mia.showInstallation({ params })).remote, await due()]).toEqual([null, []])
    await update()
    await room.publish({ version: '3.0.0' })
    await update()
    expect([(await mia.showInstallation({ params })).remote, await due()]).toEqual([null, []])
    // What the service stores of the tenant is deleted with the module: its host stays known.
    expect((await room.row()).upstream_host).toBe('acme.example')
    await mia.rollbackModule({ params })
    expect([(await mia.showInstallation({ params })).remote, await due()]).toEqual(['confirmed', ['attendance']])
  })

  test('a version that costs more is installed only with the price that was shown', async () => {
    const room = await anActive(await fresh())
    const { mia, publish } = room
    const billing = (monthlyPrice: number, currency = 'EUR') => ({ billing: { model: 'subscription', monthlyPrice, currency } })
    await publish({ version: '1.1.0', ...billing(4999) })
    const price = { cents: 499_900, currency: 'eur' }
    expect(await mia.showInstallation({ params })).toMatchObject({ updateAvailable: '1.1.0', price: null, updatePrice: price })
    await expect(mia.updateModule({ params })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(
        /1\.1\.0 costs 4999\.00 EUR a month; the installed version costs nothing\. fix: .*modulePriceCents: 499900$/,
      ),
    })
    expect(await codeOf(mia.updateModule({ params, body: { modulePriceCents: 499 } }))).toBe('CONFLICT')
    expect((await room.row()).version).toBe('1.0.0')
    await mia.updateModule({ params, body: { modulePriceCents: 499_900 } })
    expect(await mia.showInstallation({ params })).toMatchObject({ version: '1.1.0', price, updateAvailable: null, updatePrice: null })

    await publish({ version: '1.2.0', ...billing(4999, 'USD') })
    expect(await codeOf(mia.updateModule({ params }))).toBe('CONFLICT')
    await publish({ version: '1.3.0', ...billing(4.99) })
    expect(await codeOf(mia.updateModule({ params, body: { modulePriceCents: null } }))).toBe('CONFLICT')
    await mia.updateModule({ params })
    expect((await room.row()).version).toBe('1.3.0')
  })

  test('a version that is withdrawn while its data is prepared is not installed', async () => {
    const room = await anActive(await fresh())
    await room.publish({ version: '2.0.0', dataVersion: 1 })
    const prepare = async ({ target }: { target: number }) => {
      await room.operator.withdrawModule({ params: { id: 'attendance' }, body: { reason: 'leaks', version: '2.0.0' } })
      return { dataGeneration: target, dataVersion: 1, dataBytes: 0 }
    }
    const replica = await aModulesWorld(room.db, { isFirst: false, clock: room.clock, deps: { prepare } })
    expect(await codeOf(replica.as('mia').updateModule({ params }))).toBe('INVALID_TRANSITION')
    expect(await room.row()).toMatchObject({ version: '1.0.0', status: 'active', busy_until: null })
  })

  test('after 7 days there is no rollback, and the former data is deleted', async () => {
    const room = await anActive(await fresh())
    await room.addDocuments('attendance', 0, ['old'])
    await room.publish({ version: '1.1.0', dataVersion: 1 })
    await room.mia.updateModule({ params })
    await room.runJobs()
    expect(await room.documents()).toHaveLength(2)
    await room.clock.advance(7 * dayMs)
    expect(await codeOf(room.mia.rollbackModule({ params }))).toBe('INVALID_TRANSITION')
    expect((await room.mia.showInstallation({ params })).rollback).toBeNull()
    await room.runJobs()
    expect(await room.documents()).toEqual([expect.stringMatching(/^ten_one attendance [1-9]\d* migrated$/)])
  })

  test('killed at each statement of an update: the version and data before it, or all of the new; a job deletes what remains', async () => {
    const room = await anActive(await fresh())
    await room.addDocuments('attendance', 0, ['old'])
    await room.publish({ version: '2.0.0', dataVersion: 1 })
    for (let steps = 1; ; steps++) {
      const { db } = mortal(room.db, steps)
      const prepare: ModulesDeps['prepare'] = async ({ installation: { tenantId, moduleId }, target }) => {
        const place = { tenantId, moduleId, generation: target }
        for (const key of ['new:1', 'new:2'])
          await db.transaction().execute((tx) => writeDocuments(tx, place, { changes: [{ key, json: '1' }], version: 1 }))
        return { dataGeneration: target, dataVersion: 1, dataBytes: 12 }
      }
      const replica = await aModulesWorld(room.db, { isFirst: false, clock: room.clock, deps: { db, prepare } })
      await codeOf(replica.as('mia').updateModule({ params }))
      await room.clock.advance(190_000)
      await room.runJobs()
      const { version, data_version, data_generation } = await room.row()
      const isUpdated = version === '2.0.0'
      expect(data_version).toBe(isUpdated ? 1 : 0)
      const kept = isUpdated ? ['new:1', 'new:2', 'old'] : ['old']
      const expected = kept.map((key) => `ten_one attendance ${key === 'old' ? 0 : data_generation} ${key}`)
      expect(await room.documents()).toEqual(expected)
      expect((await room.events()).filter(({ type }) => type === 'module.updated')).toHaveLength(isUpdated ? 1 : 0)
      if (isUpdated) break
      expect(steps).toBeLessThan(80)
    }
  })

  test('an update without a migration keeps the data, and a rollback loses nothing', async () => {
    const room = await anActive(await fresh())
    await room.publish({ version: '1.1.0' })
    await room.mia.updateModule({ params })
    expect(await room.mia.rollbackModule({ params })).toEqual({ success: true, version: '1.0.0', losesDataSince: null })
    await room.publish({ version: '1.2.0' })
    expect(await codeOf(room.mia.updateModule({ params, body: { version: '9.9.9' } }))).toBe('UNKNOWN_MODULE')
    await room.mia.updateModule({ params, body: { version: '1.2.0' } })
    expect(await codeOf(room.mia.updateModule({ params, body: { version: '1.1.0' } }))).toBe('INVALID_TRANSITION')
  })

  test('secret settings are sealed and never read back; a run reads them', async () => {
    const room = await anActive(await fresh())
    const { mia, db } = room
    expect(await mia.showModuleSettings({ params })).toMatchObject({ values: { startHour: 8 }, secrets: { token: false } })
    const put = (values: object) => mia.changeModuleSettings({ params, body: { values: values as Record<string, unknown> } })
    const wrong = await put({ startHour: 99, token: 'x' }).catch((error) => error)
    expect(wrong).toMatchObject({ code: 'VALIDATION', details: [{ path: 'values.startHour' }] })
    expect(await codeOf(put({ startHour: 9 }))).toBe('VALIDATION')
    const before = await room.row()
    const changed = await put({ startHour: 9, token: 'geheim-42' })
    expect(changed).toMatchObject({ values: { startHour: 9 }, secrets: { token: true } })
    expect((await room.row()).generation).toBeGreaterThan(before.generation)
    expect(JSON.stringify(await mia.showModuleSettings({ params }))).not.toContain('geheim')
    const stored = [await db.selectFrom('module_secrets').selectAll().execute(), await room.row(), await room.audited()]
    expect(JSON.stringify(stored)).not.toContain('geheim')
    expect((await room.audited()).at(-1)?.split(' ')).toEqual(['module.settings-changed', 'one'])
    await put({ startHour: 10 })
    const one = await findInstallation(db, { tenantId: 'ten_one', moduleId: 'attendance' })
    const read = await settingsOfRun({ ...room.deps, db }, one as NonNullable<typeof one>, aManifest({ settings }))
    expect(read).toEqual({ startHour: 10, token: 'geheim-42' })
    expect(await codeOf(put({ startHour: 10, token: null }))).toBe('VALIDATION')
    expect(await codeOf(room.as('anna').showModuleSettings({ params }))).toBe('FORBIDDEN')
  })

  test('runs are listed newest first, a page at a time', async () => {
    const room = await anActive(await fresh())
    const common = {
      tenant_id: 'ten_one',
      module_id: 'attendance',
      version: '1.0.0',
      generation: 2,
      kind: 'event',
      event_type: 'space.created',
    } as const
    const rest = {
      cause: null,
      depth: 0,
      delivery_id: 'dlv_1',
      attempt: 1,
      status: 'failed',
      ms: 3,
      interpreter_ms: 1,
      error: 'thrown',
    } as const
    for (const n of [1, 2, 3])
      await room.db
        .insertInto('module_runs')
        .values({ id: `mru_${n}`, ...common, ...rest, violations: '[]', log: '["line"]', created_at: `2026-01-0${n}T00:00:00.000Z` })
        .execute()
    const first = await room.mia.listModuleRuns({ params, query: { limit: 2 } })
    expect(first.runs.map(({ id }) => id)).toEqual(['mru_3', 'mru_2'])
    const second = await room.mia.listModuleRuns({ params, query: { limit: 2, cursor: first.nextCursor as string } })
    expect(second).toMatchObject({ runs: [{ id: 'mru_1', status: 'failed', error: 'thrown', log: ['line'] }], nextCursor: null })
    expect(await codeOf(room.as('anna').listModuleRuns({ params }))).toBe('FORBIDDEN')
  })
})

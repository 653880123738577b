import { expect, test } from 'vitest'
import { isProblem } from '../../../../src/core/kit/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { goodAnswer, type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const code = (call: Promise<unknown>) => call.then(() => 'no problem').catch((error) => (isProblem(error) ? error.code : String(error)))
const params = { slug: 'north' }
const begin = async (world: LifeWorld) => (await world.api()).importBox({ params, body: { drop: ['mail'], reason: 'one of ours' } })
const show = async (world: LifeWorld) => (await world.api()).showBox({ params })

const facts = {
  ...{ tables: 2, rows: 5, events: 3, linkedFiles: 1, copiedFiles: 0, comparedFiles: 1, downtimeMs: 60_000 },
  addresses: ['127.0.0.1:8008'],
}

onBothDialects('an import', (fresh) => {
  const withStack = async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await world.db.updateTable('boxes').set({ managed: 0, folder: '/srv/north', project: 'north', first_port: null }).execute()
    return { world, id }
  }
  /** The agent ends its command well. */
  const ends = async (world: LifeWorld, result: object, managed: boolean) => {
    const command = await world.take('host-1')
    const { report, probe } = goodAnswer({ ...command, kind: 'tenant-box.restart' }, world.clock.now().toISOString()) as Record<
      string,
      object
    >
    await world.post('host-1', command, { ok: true, result: { report: { ...report, managed }, probe, ...result } })
    return command
  }

  test('holds the box until it is imported, and then its stack is the way back', async () => {
    const { world, id } = await withStack()
    expect(await begin(world)).toMatchObject({
      state: 'importing',
      folder: '/srv/north',
      project: 'north',
      dropped: ['mail'],
      reason: 'one of ours',
    })
    expect(await world.holds()).toEqual(['import'])
    expect([await code(begin(world)), await code((await world.api()).restartBox({ params, body: { reason: 'memory' } }))]).toEqual([
      'BOX_HELD',
      'BOX_HELD',
    ])
    expect(await code((await world.api()).removeBox({ params, body: { confirm: 'north', reason: 'gone', now: false } }))).toBe('CONFLICT')
    const command = await ends(world, { facts }, true)
    expect(command).toMatchObject({
      kind: 'tenant-box.import',
      payload: { slug: 'north', drop: ['mail'], ports: { public: expect.any(Number) } },
    })
    expect(await world.holds()).toEqual([])
    expect(await world.box(id)).toMatchObject({
      managed: true,
      folder: null,
      project: null,
      internalUrl: expect.stringMatching(/^http:\/\/127/),
    })
    expect((await show(world)).import).toMatchObject({ state: 'imported', facts, commandId: null, error: null })
    expect(await world.audit()).toEqual(expect.arrayContaining(['box.import.importing', 'box.import.imported']))
  })

  test('that fails leaves the box observed and on no hold, and may be tried again', async () => {
    const { world, id } = await withStack()
    await begin(world)
    await world.fail('host-1', 'PROBE_FAILED')
    expect(await world.holds()).toEqual([])
    expect(await world.box(id)).toMatchObject({ managed: false, folder: '/srv/north', project: 'north' })
    expect((await show(world)).import).toMatchObject({ state: 'failed', error: { code: 'PROBE_FAILED' } })
    expect(await code((await world.api()).undoImport({ params, body: { reason: 'back' } }))).toBe('CONFLICT')
    expect((await begin(world)).state).toBe('importing')
  })

  test('is undone: the box is observed as before, with what was lost', async () => {
    const { world, id } = await withStack()
    await begin(world)
    await ends(world, { facts }, true)
    expect((await (await world.api()).undoImport({ params, body: { reason: 'a bridge' } })).state).toBe('undoing')
    expect(await world.holds()).toEqual(['import'])
    const written = { events: 2, media: 0, lastAt: '2026-01-01T00:00:00.000Z' }
    await ends(world, { written }, false)
    expect(await world.box(id)).toMatchObject({ managed: false, folder: '/srv/north', project: 'north', internalUrl: null })
    expect((await show(world)).import).toMatchObject({ state: 'undone', written })
  })

  test('an undo that fails leaves it imported; a finished one has no way back', async () => {
    const { world, id } = await withStack()
    await begin(world)
    await ends(world, { facts }, true)
    await (await world.api()).undoImport({ params, body: { reason: 'a bridge' } })
    await world.fail('host-1', 'BOX_UNHEALTHY')
    expect((await show(world)).import).toMatchObject({ state: 'imported', error: { code: 'BOX_UNHEALTHY' } })
    await (await world.api()).finishImport({ params, body: { reason: 'checked', volumes: true } })
    const command = await world.take('host-1')
    expect(command).toMatchObject({ kind: 'tenant-box.finish_import', payload: { volumes: true } })
    await world.post('host-1', command, { ok: true, result: { removed: ['container north-synapse-1'] } })
    expect((await show(world)).import).toMatchObject({ state: 'finished', error: null })
    expect(await code((await world.api()).undoImport({ params, body: { reason: 'too late' } }))).toBe('CONFLICT')
    expect(await world.box(id)).toMatchObject({ managed: true, folder: null })
  })

  test('takes a box that was completed in place, at its own ports, and an undo returns it as managed', async () => {
    const { world, id } = await withStack()
    await world.db.updateTable('boxes').set({ managed: 1, first_port: 18_100, internal_url: 'http://127.0.0.1:18101' }).execute()
    expect((await show(world)).findings).toEqual([expect.stringMatching(/former owner.* fix: tenantry boxes import north --plan/)])
    await begin(world)
    expect((await ends(world, { facts }, true)).payload).toMatchObject({ ports: { public: 18_100 } })
    expect(await world.box(id)).toMatchObject({ managed: true, folder: null, internalUrl: 'http://127.0.0.1:18101' })
    expect((await show(world)).findings).toEqual([])
    await (await world.api()).undoImport({ params, body: { reason: 'a bridge' } })
    await ends(world, { written: null }, true)
    expect(await world.box(id)).toMatchObject({ managed: true, folder: '/srv/north', internalUrl: 'http://127.0.0.1:18101' })
  })

  test('ends with a move and with a removal: the box is one like any other', async () => {
    const { world } = await withStack()
    await begin(world)
    await ends(world, { facts }, true)
    await (await world.api()).moveBox({ params, body: { to: 'host-2', reason: 'space' } })
    await world.answer('host-1', 'tenant-box.hand_over')
    await world.answer('host-2', 'tenant-box.take_over')
    expect((await show(world)).import?.state).toBe('imported')
    await (await world.api()).confirmMove({ params })
    await world.answer('host-1', 'tenant-box.remove')
    expect((await show(world)).import).toMatchObject({ state: 'finished', error: null })
    await (await world.api()).removeBox({ params, body: { confirm: 'north', reason: 'gone', now: true } })
    await world.answer('host-2', 'tenant-box.hand_over')
    await world.answer('host-2', 'tenant-box.remove')
    expect(await world.db.selectFrom('box_imports').select('state').execute()).toEqual([{ state: 'finished' }])
  })

  test('is refused for a box of the template, on a hold, and without its host', async () => {
    const { world, id } = await withStack()
    await world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()
    expect(await code(begin(world))).toBe('BOX_HELD')
    await world.db.deleteFrom('box_holds').execute()
    await world.silence('host-1')
    expect(await code(begin(world))).toBe('HOST_OFFLINE')
    await world.db.updateTable('boxes').set({ managed: 1, folder: null }).execute()
    expect(await code(begin(world))).toBe('CONFLICT')
  })
})

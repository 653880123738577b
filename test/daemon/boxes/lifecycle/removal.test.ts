import { expect, test } from 'vitest'
import { isProblem, sha256Hex } from '../../../../src/core/kit/index.ts'
import { lifecycleJobs } from '../../../../src/daemon/boxes/index.ts'
import { aProbe, aReport } from '../../../support/boxes.ts'
import { answerCommand, failCommand } from '../../../support/boxes-world.ts'
import { inBetween, onBothDialects } from '../../../support/databases.ts'
import { type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const north = { params: { slug: 'north' } }
const left = { confirm: 'north', reason: 'the school has left' }
const again = { slug: 'north', name: 'School north', plan: 'light', chatDomain: 'north.example', host: 'host-1' } as const
const remove = async (world: LifeWorld, change: object = {}) => (await world.api()).removeBox({ ...north, body: { ...left, ...change } })

async function removed(world: LifeWorld) {
  const box = await world.aBox('north')
  await remove(world)
  await world.answer('host-1', 'tenant-box.hand_over')
  return box
}

const revoke = ({ db }: LifeWorld) => db.updateTable('hosts').set({ status: 'revoked' }).where('name', '=', 'host-1').execute()
const runJob = (world: LifeWorld, db = world.db) => lifecycleJobs({ ...world.room, db })[0]?.run({ signal: new AbortController().signal })
const later = async (world: LifeWorld) => {
  await world.clock.advance(30 * 86_400_000)
  await world.silence()
}

onBothDialects('a removal', (fresh) => {
  test('stops the box after a last snapshot and retains its data', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    expect(await remove(world)).toMatchObject({ state: 'handing_over', by: 'admin:anna' })
    expect([await world.holds(), (await world.box(id)).live]).toEqual([['removal'], true])
    await world.answer('host-1', 'tenant-box.hand_over')
    expect([await world.holds(), (await world.box(id)).live]).toEqual([[], false])
    const api = await world.api()
    const shown = await api.showBox(north)
    const keepUntil = new Date(world.clock.now().getTime() + 30 * 86_400_000).toISOString()
    expect(shown).toMatchObject({ status: 'removed', live: false, removal: { state: 'kept', snapshotId: sha256Hex('final'), keepUntil } })
    expect(await code(api.checkBox(north))).toBe('CONFLICT')
    expect(await code(api.moveBox({ ...north, body: { to: 'host-2', reason: 'no reason' } }))).toBe('CONFLICT')
    await expect(api.provisionBox({ body: again })).rejects.toThrow(/was removed and its data is retained/)
    expect(await world.audit()).toEqual(expect.arrayContaining(['box.removal.handing_over', 'box.removal.kept']))
  })

  test('can be reverted with a higher epoch while the data is retained', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await removed(world)
    const api = await world.api()
    expect(await api.undoRemoval(north)).toMatchObject({ state: 'taking_back' })
    expect((await world.answer('host-1', 'tenant-box.take_back')).payload).toMatchObject({ ownershipEpoch: 2 })
    expect(await world.box(id)).toMatchObject({ live: true, removal: null, ownershipEpoch: 2 })
    expect(await api.showBox(north)).toMatchObject({ status: 'ready', freshness: 'fresh', removal: { state: 'undone' } })
    expect(await code(api.undoRemoval(north))).toBe('INVALID_TRANSITION')
  })

  test('that was reverted, but whose box could not be unfenced, has the error', async () => {
    const world = await lifeWorld(await fresh())
    await removed(world)
    const api = await world.api()
    await api.undoRemoval(north)
    const error = { code: 'INTERNAL', message: 'the box is still fenced' }
    await world.answer('host-1', 'tenant-box.take_back', { error })
    expect((await api.showBox(north)).removal).toMatchObject({ state: 'undone', error })
  })

  test('that cannot be reverted stays, and reverting may be retried', async () => {
    const world = await lifeWorld(await fresh())
    await removed(world)
    const api = await world.api()
    await api.undoRemoval(north)
    await world.fail('host-1', 'PROBE_FAILED')
    expect((await api.showBox(north)).removal).toMatchObject({
      state: 'kept',
      error: { code: 'PROBE_FAILED' },
      keepUntil: expect.any(String),
    })
    await api.undoRemoval(north)
    expect((await world.answer('host-1', 'tenant-box.take_back')).payload).toMatchObject({ ownershipEpoch: 3 })
  })

  test('erases the data past retention; the tenant stays, and its slug may have a new box', async () => {
    const world = await lifeWorld(await fresh())
    const { id, tenantId } = await removed(world)
    const [job] = lifecycleJobs(world.room)
    const run = () => job?.run({ signal: new AbortController().signal })
    expect(await run()).toContain('erasing 0 of 0 removed boxes')
    await world.clock.advance(30 * 86_400_000)
    await world.silence()
    expect(await run()).toContain('erasing 1 of 1 removed box')
    await world.answer('host-1', 'tenant-box.remove')
    expect(await world.box(id)).toMatchObject({ live: false, removal: 'erased', ports: null })
    expect(await world.db.selectFrom('box_secrets').selectAll().execute()).toEqual([])
    const api = await world.api()
    expect(await code(api.showBox(north))).toBe('NOT_FOUND')
    expect((await api.listBoxes()).boxes).toEqual([])
    expect(await code(api.provisionBox({ body: { ...again, plan: 'pro' } }))).toBe('CONFLICT')
    const { box } = await api.provisionBox({ body: again })
    expect([box.tenantId, box.boxId === id]).toEqual([tenantId, false])
  })

  test('keeps the data past retention while the last snapshot is not present, because it may be all that is left', async () => {
    let status = 'missing'
    const world = await lifeWorld(await fresh(), { isStored: async () => status === 'present' })
    const { id } = await removed(world)
    await later(world)
    const run = async () =>
      lifecycleJobs({ ...world.room, isStored: async () => status === 'present' })[0]?.run({ signal: new AbortController().signal })
    expect(await run()).toContain('erasing 0 of 1 removed box, 1 keeps its data: no last snapshot is present')
    expect(await world.box(id)).toMatchObject({ removal: 'removed' })
    status = 'present'
    expect(await run()).toMatch(/^erasing 1 of 1 removed box;/)
  })

  test('--now erases at once, before or after the box was stopped', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world, { now: true })
    await world.answer('host-1', 'tenant-box.hand_over')
    await world.answer('host-1', 'tenant-box.remove')
    expect((await world.box(id)).removal).toBe('erased')
    const written = (await world.audit()).filter((action) => action.startsWith('box.removal.'))
    expect(written).toEqual(['box.removal.handing_over', 'box.removal.erasing', 'box.removal.erased'])
    const other = await world.aBox('south')
    const api = await world.api()
    const south = { params: { slug: 'south' } }
    await api.removeBox({ ...south, body: { ...left, confirm: 'south' } })
    await world.answer('host-1', 'tenant-box.hand_over')
    expect(await code(api.removeBox({ ...south, body: { ...left, confirm: 'south' } }))).toBe('CONFLICT')
    expect(await api.removeBox({ ...south, body: { ...left, confirm: 'south', now: true } })).toMatchObject({ state: 'erasing' })
    await world.fail('host-1', 'NOT_FOUND') // a host that knows no such box has nothing to erase
    expect((await world.box(other.id)).removal).toBe('erased')
  })

  test('without a last snapshot keeps the data until an operator erases it, and says why', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world)
    expect(
      (await world.answer('host-1', 'tenant-box.hand_over', { snapshot: null, noSnapshot: 'postgres of north does not run' })).payload,
    ).toMatchObject({
      removal: true,
    })
    const api = await world.api()
    const remarks = ['No last snapshot was taken: postgres of north does not run']
    expect((await api.showBox(north)).removal).toMatchObject({ state: 'kept', snapshotId: null, keepUntil: null, remarks })
    await later(world)
    expect(await runJob(world)).toContain('erasing 0 of 0 removed boxes')
    await remove(world, { now: true })
    await world.answer('host-1', 'tenant-box.remove', { removed: ['container north-synapse-1', 'left: container north-irc-1'] })
    expect((await world.box(id)).removal).toBe('erased')
    const entry = await world.db.selectFrom('audit').select('data').where('action', '=', 'box.removal.erased').executeTakeFirstOrThrow()
    expect(JSON.parse(entry.data).remarks).toEqual([...remarks, 'left: container north-irc-1'])
  })

  test('--now without a last snapshot erases nothing until it is given again: the store may only be away', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world, { now: true })
    await world.answer('host-1', 'tenant-box.hand_over', { snapshot: null, noSnapshot: 'the store does not answer' })
    const remarks = ['No last snapshot was taken: the store does not answer']
    expect((await (await world.api()).showBox(north)).removal).toMatchObject({ state: 'kept', keepUntil: null, remarks })
    await later(world)
    expect(await runJob(world)).toContain('erasing 0 of 0 removed boxes')
    await remove(world, { now: true })
    await world.answer('host-1', 'tenant-box.remove')
    expect((await world.box(id)).removal).toBe('erased')
  })

  test('--now of a box that its host has no record of erases what its folder shows; else it fails', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world)
    await world.fail('host-1', 'NOT_FOUND')
    expect((await world.box(id)).live).toBe(true)
    await remove(world, { now: true })
    await world.fail('host-1', 'NOT_FOUND')
    await world.answer('host-1', 'tenant-box.remove')
    expect((await world.box(id)).removal).toBe('erased')
  })

  test('of a box whose host is gone ends its record only with the name of that host, and a host that returns stops it', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    const gone = (hostIsDead: string) => remove(world, { hostIsDead })
    expect([await code(gone('host-2')), await code(gone('host-1'))]).toEqual(['VALIDATION', 'CONFLICT'])
    await world.silence('host-1')
    expect(await gone('host-1')).toMatchObject({
      state: 'erased',
      error: { code: 'HOST_OFFLINE', message: expect.stringMatching(/may still be on it/) },
    })
    expect(await world.box(id)).toMatchObject({ live: false, removal: 'erased', ports: null })
    const { disowned } = await world.hello('host-1')
    expect(disowned).toEqual([{ slug: 'north', boxId: id, ownershipEpoch: 2 }])
  })

  test('that the host refuses leaves the box unchanged', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world)
    await world.fail('host-1', 'SNAPSHOT_FAILED')
    expect(await world.box(id)).toMatchObject({ live: true, removal: null })
    expect(await world.holds()).toEqual([])
    expect((await (await world.api()).showBox(north)).removal).toMatchObject({ state: 'failed', keepUntil: null })
  })

  test('needs the slug as confirmation, an online host, and a box without a hold', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    expect(await code(remove(world, { confirm: 'south' }))).toBe('VALIDATION')
    await world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()
    expect(await code(remove(world))).toBe('BOX_HELD')
    await world.db.deleteFrom('box_holds').execute()
    await world.silence('host-1')
    expect(await code(remove(world))).toBe('HOST_OFFLINE')
    expect((await world.box(id)).live).toBe(true)
  })

  test('of an observed stack changes nothing on its host', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await world.db.updateTable('boxes').set({ managed: 0, folder: '/srv/north', project: 'north', first_port: null }).execute()
    expect(await remove(world)).toMatchObject({ state: 'erased' })
    expect([(await world.box(id)).removal, await world.offered('host-1')]).toEqual(['erased', null])
  })

  test('that is reverted while the job runs is not erased', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await removed(world)
    await later(world)
    const undone = async () => {
      await (await world.api()).undoRemoval(north)
      await world.answer('host-1', 'tenant-box.take_back')
    }
    expect(await runJob(world, inBetween(world.db, undone))).toContain('erasing 0 of 1 removed box')
    expect(await world.box(id)).toMatchObject({ live: true, removal: null })
    expect(await world.db.selectFrom('box_removals').select('state').execute()).toEqual([{ state: 'undone' }])
  })

  test('of a box on a revoked host ends at once, with a warning about remaining data', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await revoke(world)
    const before = await world.db.selectFrom('commands').select('id').execute()
    expect(await code(remove(world))).toBe('HOST_REVOKED')
    expect((await world.box(id)).live).toBe(true)
    const left = { code: 'HOST_REVOKED', message: expect.stringContaining('may still be on it') }
    expect(await remove(world, { now: true })).toMatchObject({ state: 'erased', error: left })
    expect(await world.box(id)).toMatchObject({ live: false, removal: 'erased', ports: null })
    expect([await world.holds(), await world.db.selectFrom('commands').select('id').execute()]).toEqual([[], before])
    expect((await world.events()).at(-1)).toMatchObject({ eventType: 'box.removal', state: 'erased', error: left })
    const entry = await world.db.selectFrom('audit').select('data').where('action', '=', 'box.removal.erased').executeTakeFirstOrThrow()
    expect(JSON.parse(entry.data)).toMatchObject({ error: left })
  })

  test.each(['handing over', 'kept'] as const)('that was %s when its host was revoked can be finished', async (how) => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world)
    if (how === 'kept') await world.answer('host-1', 'tenant-box.hand_over')
    else await world.take('host-1')
    await revoke(world)
    const undo = (await world.api()).undoRemoval(north)
    await expect(undo).rejects.toMatchObject({ code: 'HOST_REVOKED', message: expect.stringMatching(/enrol --anew.*remove north --now/) })
    expect(await remove(world, { now: true })).toMatchObject({ state: 'erased' })
    expect([(await world.box(id)).removal, await world.holds()]).toEqual(['erased', []])
  })

  test('past retention ends automatically when its host is revoked', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await removed(world)
    await later(world)
    await revoke(world)
    expect(await runJob(world)).toContain('erasing 1 of 1 removed box')
    expect((await world.box(id)).removal).toBe('erased')
  })

  test('is not reverted by a late result of its set-up', async () => {
    const world = await lifeWorld(await fresh())
    const api = await world.api()
    const { box, commandId } = await api.provisionBox({ body: again })
    await failCommand(world.room, commandId, 'expired')
    await remove(world)
    const late = () => answerCommand(world.room, commandId, { report: aReport('north'), probe: aProbe() })
    await late()
    expect(await world.box(box.boxId)).toMatchObject({ live: false, removal: 'removed' })
    await world.answer('host-1', 'tenant-box.remove')
    await late()
    expect(await world.box(box.boxId)).toMatchObject({ live: false, removal: 'erased' })
  })

  test('of a box that never became ready deletes what is left of it', async () => {
    const world = await lifeWorld(await fresh())
    const api = await world.api()
    await api.provisionBox({ body: again })
    expect(await code(remove(world))).toBe('CONFLICT') // it is being set up
    await world.fail('host-1', 'PULL_FAILED')
    expect(await remove(world)).toMatchObject({ state: 'erasing' })
    await world.answer('host-1', 'tenant-box.remove')
    expect(await code(api.showBox(north))).toBe('NOT_FOUND')
  })
})

onBothDialects('a removal whose agent lost its state folder', (fresh) => {
  const lost = { code: 'HOST_REVOKED', message: expect.stringContaining('lost this command with its state folder') }
  const stateOf = async (world: LifeWorld) => (await (await world.api()).showBox(north)).removal

  test('at the last snapshot has failed, and the box is released', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await remove(world)
    await world.loseStateFolder('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'failed', error: lost })
    expect([(await world.box(id)).live, await world.holds()]).toEqual([true, []])
  })

  test('while it is undone or erased keeps the box as removed, and can be asked for again', async () => {
    const world = await lifeWorld(await fresh())
    await removed(world)
    await (await world.api()).undoRemoval(north)
    await world.loseStateFolder('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'kept', error: lost })
    await remove(world, { now: true })
    await world.loseStateFolder('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'kept', error: lost })
    await remove(world, { now: true })
    await world.answer('host-1', 'tenant-box.remove')
    await expect((await world.api()).showBox(north)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

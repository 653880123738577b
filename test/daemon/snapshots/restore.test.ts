import { expect, test } from 'vitest'
import { isoNow, isProblem } from '../../../src/core/kit/index.ts'
import { notifyLost } from '../../../src/daemon/hosts/index.ts'
import { snapshotForMove, snapshotListener } from '../../../src/daemon/snapshots/index.ts'
import { aReport } from '../../support/boxes.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aDrill, aRestore, dayMs, hourMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const code = async (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const north = { params: { slug: 'north' } }
const reason = 'the import went wrong'

onBothDialects('a restore', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    const box = await world.aBox('north')
    const { snapshotId } = await world.aSnapshot('north', 'a')
    const { api } = world
    const ask = () => api.restoreBox({ ...north, body: { snapshotId, reason } })
    const heldBy = async () => (await api.showBox(north)).heldBy
    const status = async () => (await world.db.selectFrom('box_restores').select('status').executeTakeFirstOrThrow()).status
    /** Advances time for a daemon that sweeps all the time and a host that stays connected. */
    const pass = async (ms: number) => {
      await world.sweep()
      await world.clock.advance(ms)
      await world.heard()
      await world.sweep()
    }
    return { ...world, box, snapshotId, ask, heldBy, status, pass }
  }

  test('that succeeded verifies its snapshot, whatever an earlier check found', async () => {
    const { ask, answer, api, db, clock } = await setUp()
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'check' }).execute()
    await ask()
    await answer('tenant-box.restore', aRestore())
    const [snapshot] = (await api.listSnapshots()).snapshots
    expect(snapshot).toMatchObject({
      status: 'present',
      lastDrill: null,
      lastProof: { at: isoNow(clock), durationMs: aRestore().durationMs },
    })
  })

  test('is what a move from a dead host continues, not the data that it replaced', async () => {
    const { answer, api, aSnapshot, taken, clock, db, deps, box } = await setUp()
    const ofMove = async () => (await db.transaction().execute((tx) => snapshotForMove(deps)(tx, box)))?.snapshotId
    const restore = async (word: string, preRestore: string) => {
      await api.restoreBox({ ...north, body: { snapshotId: idOf(word), reason } })
      await clock.advance(1000)
      const result = { snapshotId: idOf(word), preRestore: taken(preRestore, { tier: 'pre-restore' }).snapshot }
      await answer('tenant-box.restore', aRestore(result))
      await clock.advance(1000)
    }
    await aSnapshot('north', 'b')
    await aSnapshot('north', 'spoilt')
    expect(await ofMove()).toBe(idOf('spoilt'))
    await restore('b', 'replaced')
    expect(await ofMove()).toBe(idOf('b'))
    // A restore that left the former data in place changes nothing.
    await api.restoreBox({ ...north, body: { snapshotId: idOf('a'), reason } })
    await answer('tenant-box.restore', aRestore({ outcome: 'failed', error: { code: 'RESTORE_FAILED', message: 'counts differ' } }))
    expect(await ofMove()).toBe(idOf('b'))
    await aSnapshot('north', 'next')
    expect(await ofMove()).toBe(idOf('next'))
    await restore('spoilt', 'replaced again')
    expect(await ofMove()).toBe(idOf('spoilt'))
    // Older than the restored one: of the same data. Anything is better than nothing.
    const gone = (word: string) => db.updateTable('snapshots').set({ status: 'missing' }).where('snapshot_id', '=', idOf(word)).execute()
    await gone('spoilt')
    expect(await ofMove()).toBe(idOf('b'))
    for (const word of ['b', 'a']) await gone(word)
    expect(await ofMove()).toBe(idOf('replaced again'))
  })

  test('holds the box from the call to its agent’s result', async () => {
    const { ask, heldBy, answer, events, audit, box, api, snapshotId, room } = await setUp()
    const { commandId } = await ask()
    expect(await heldBy()).toBe(`restore:${commandId}`)
    const statuses = async () => [(await api.showBox(north)).status, (await api.listBoxes({ query: {} })).boxes[0]?.status]
    expect(await statuses()).toEqual(['restoring', 'restoring'])
    const { payload } = await answer('tenant-box.restore', aRestore())
    expect(payload).toEqual({
      slug: 'north',
      boxId: box.id,
      ownershipEpoch: 1,
      snapshotId,
      snapshotSha256: idOf('manifest of a'),
      probe: room.probe,
      deadlineMs: 6 * hourMs,
    })
    expect([await heldBy(), ...(await statuses())]).toEqual([null, 'ready', 'ready'])
    expect((await events()).at(-1)).toMatchObject({
      eventType: 'box.restored',
      slug: 'north',
      snapshotId,
      outcome: 'restored',
      error: null,
    })
    expect((await audit()).slice(1)).toEqual([
      { actor: 'admin:anna', action: 'box.restore', subject: 'north' },
      { actor: 'system:snapshots', action: 'box.restored', subject: 'north' },
    ])
  })

  test('registers a snapshot of the former data, and stores the new versions', async () => {
    const { ask, answer, api, taken, room } = await setUp()
    const { commandId } = await ask()
    const report = aReport('north', {
      at: room.clock.now().toISOString(),
      installed: { ...aReport('north').installed, synapse: '1.150.0' },
    })
    await answer('tenant-box.restore', aRestore({ preRestore: taken('before', { tier: 'pre-restore' }).snapshot, report }))
    expect((await api.listSnapshots({ query: { tier: 'pre-restore' } })).snapshots).toMatchObject([
      { snapshotId: idOf('before'), slug: 'north', commandId, status: 'present' },
    ])
    expect((await api.showBox(north)).installed.synapse).toBe('1.150.0')
  })

  test.each(['failed', 'restore_failed'] as const)(
    'that ended %s is reported as such, and the box is free for a retry',
    async (outcome) => {
      const { ask, answer, heldBy, events, audit, status } = await setUp()
      await ask()
      const error = { code: 'PROBE_FAILED', message: 'the chat server does not answer' }
      await answer('tenant-box.restore', aRestore({ outcome, error }))
      expect([await heldBy(), await status()]).toEqual([null, outcome])
      expect((await events()).at(-1)).toMatchObject({ eventType: 'box.restore_failed', outcome, error })
      expect((await audit()).at(-1)).toMatchObject({ action: 'box.restore_failed' })
      expect(await code(ask())).toBe('no problem')
    },
  )

  test('that its agent refused releases the box', async () => {
    const { ask, fail, heldBy, status } = await setUp()
    await ask()
    await fail('LEASE_LOST')
    expect([await heldBy(), await status()]).toEqual([null, 'failed'])
  })

  test('that no agent fetched before its deadline releases the box', async () => {
    const { ask, heldBy, pass, status, events } = await setUp()
    await ask()
    await pass(6 * hourMs + 30 * 60_000)
    expect([await heldBy(), await status()]).toEqual([null, 'failed'])
    expect((await events()).at(-1)).toMatchObject({ eventType: 'box.restore_failed', error: { code: 'COMMAND_EXPIRED' } })
  })

  test('that an agent fetched without a result keeps the box on hold until a late result', async () => {
    const { ask, take, post, heldBy, pass, status, events } = await setUp()
    const { commandId } = await ask()
    const command = await take()
    await pass(7 * hourMs)
    expect([await heldBy(), await status()]).toEqual([`restore:${commandId}`, 'unheard'])
    await post(command, { ok: true, result: aRestore() })
    expect([await heldBy(), await status()]).toEqual([null, 'restored'])
    expect((await events()).map(({ eventType }) => eventType).slice(1)).toEqual(['box.restore_failed', 'box.restored'])
  })

  test('that its agent reports first as failed and later with a result ends as that result says', async () => {
    const { ask, take, post, status, heldBy, events } = await setUp()
    await ask()
    const command = await take()
    await post(command, { ok: false, error: { code: 'DISK_FULL', message: 'the disk of this host is full' } })
    expect(await status()).toBe('failed')
    await post(command, { ok: true, result: aRestore() })
    expect([await heldBy(), await status()]).toEqual([null, 'restored'])
    expect((await events()).map(({ eventType }) => eventType).slice(1)).toEqual(['box.restore_failed', 'box.restored'])
  })

  test('that its agent lost with its state folder has failed and releases the box', async () => {
    const { ask, take, heldBy, pass, status, events, db, room } = await setUp()
    const { commandId } = await ask()
    await take()
    await pass(7 * hourMs)
    expect(await status()).toBe('unheard')
    const listener = snapshotListener({ ...room, deadlineMs: hourMs, versionsBefore: async () => null })
    await db.transaction().execute((tx) => notifyLost(tx, listener, [commandId]))
    expect([await heldBy(), await status()]).toEqual([null, 'failed'])
    expect((await events()).map(({ eventType }) => eventType).slice(1)).toEqual(['box.restore_failed', 'box.restore_failed'])
    expect(await code(ask())).toBe('no problem')
  })

  test('without any result holds the box for a day', async () => {
    const { ask, take, heldBy, pass } = await setUp()
    await ask()
    await take()
    await pass(7 * hourMs)
    await pass(dayMs)
    expect(await heldBy()).toBe(null)
  })

  test('of a snapshot that is unknown, expired, missing, or another tenant’s is refused; a damaged one may be tried', async () => {
    const { ask, api, aBox, aSnapshot, db, open, heldBy } = await setUp()
    await aBox('south')
    const other = await aSnapshot('south', 's')
    const restore = (snapshotId: string) => code(api.restoreBox({ ...north, body: { snapshotId, reason } }))
    expect(await restore(idOf('unknown'))).toBe('NOT_FOUND')
    expect(await restore(other.snapshotId)).toBe('NOT_FOUND')
    expect(await restore(idOf('a').slice(0, 7))).toBe('VALIDATION')
    for (const status of ['forgotten', 'missing'] as const) {
      await db.updateTable('snapshots').set({ status }).where('slug', '=', 'north').execute()
      expect(await code(ask())).toBe('CONFLICT')
    }
    expect([await open(), await heldBy()]).toEqual([[], null])
    await db.updateTable('snapshots').set({ status: 'damaged' }).where('slug', '=', 'north').execute()
    expect(await code(ask())).toBe('no problem')
  })

  test('of a box that is being restored is refused, and so is a snapshot or a drill of it', async () => {
    const { ask, api, open } = await setUp()
    await ask()
    expect(await code(ask())).toBe('BOX_HELD')
    expect(await code(api.takeSnapshot(north))).toBe('BOX_HELD')
    expect(await code(api.drillBox({ ...north, body: {} }))).toBe('BOX_HELD')
    expect(await open()).toHaveLength(1)
  })

  test('with two results counts once', async () => {
    const { ask, take, post, events, audit } = await setUp()
    await ask()
    const command = await take()
    await post(command, { ok: true, result: aRestore() })
    await post(command, { ok: true, result: aRestore() })
    expect((await events()).filter(({ eventType }) => eventType === 'box.restored')).toHaveLength(1)
    expect((await audit()).filter(({ action }) => action === 'box.restored')).toHaveLength(1)
  })

  test('counts as a proof like a drill; the box shows the last of them', async () => {
    const { ask, answer, api, snapshotId, clock, heard } = await setUp()
    const facts = async () => {
      const { lastSnapshot, lastProvenRestore } = await api.showBox(north)
      return { lastSnapshot, lastProvenRestore }
    }
    const lastSnapshot = { snapshotId, tier: 'manual', takenAt: '2026-01-05T02:00:01.000Z' }
    expect(await facts()).toEqual({ lastSnapshot, lastProvenRestore: null })
    await api.drillBox({ ...north, body: {} })
    await answer('tenant-box.drill', aDrill())
    expect((await facts()).lastProvenRestore).toEqual({ at: '2026-01-05T02:00:02.000Z', durationMs: 45_000, snapshotId })
    await clock.advance(hourMs)
    await heard()
    await ask()
    await answer('tenant-box.restore', aRestore())
    expect((await facts()).lastProvenRestore).toEqual({ at: '2026-01-05T03:00:02.000Z', durationMs: 90_000, snapshotId })
    await api.drillBox({ ...north, body: {} })
    await answer('tenant-box.drill', aDrill({ ok: false, error: { code: 'DISK_FULL', message: 'full' } }))
    expect((await facts()).lastProvenRestore?.durationMs).toBe(90_000)
  })
})

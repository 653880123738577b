import { describe, expect, test } from 'vitest'
import type { HostId } from '../../../../src/core/boxes/index.ts'
import { isoNow } from '../../../../src/core/kit/index.ts'
import { adoptBox } from '../../../../src/daemon/boxes/adopt-box.ts'
import { applyReports } from '../../../../src/daemon/boxes/index.ts'

import { importBox } from '../../../../src/daemon/boxes/lifecycle/import-box.ts'
import { maintainBox } from '../../../../src/daemon/boxes/lifecycle/maintain-box.ts'
import { removeBox, undoRemoval } from '../../../../src/daemon/boxes/lifecycle/remove-box.ts'
import { provisionBox } from '../../../../src/daemon/boxes/provision-box.ts'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { lockHost } from '../../../../src/daemon/hosts/index.ts'
import { createTenant } from '../../../../src/daemon/tenants/index.ts'
import { aProbe, aReport } from '../../../support/boxes.ts'
import { anOperator, answerCommand, failCommand } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aGate, heldUpOrOver, outcome, stoppedBeforeCommit } from '../../../support/held-up.ts'
import { goodAnswer, type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const slug = 'north'
const wanted = { slug, name: 'School north', plan: 'light', chatDomain: 'north.example', host: 'host-1', canary: false } as const

/** Holds one operation before its commit while the other runs as far as possible; returns the outcome of both. */
async function inThisOrder(db: Db, first: (db: Db) => Promise<unknown>, then: (db: Db) => Promise<unknown>): Promise<string[]> {
  const written = aGate()
  const one = outcome(first(stoppedBeforeCommit(db, written)))
  await written.reached
  const other = outcome(then(db))
  await heldUpOrOver(db, other)
  written.open()
  return Promise.all([one, other])
}

onBothDialects('concurrently', (fresh, dialect) => {
  const begin = async () => {
    const world = await lifeWorld(await fresh())
    const { room } = world
    const provision = (db: Db) => provisionBox({ ...room, db }, anOperator, wanted)
    const adopt = (db: Db) => adoptBox({ ...room, db }, anOperator, { ...wanted, folder: '/srv/north', project: 'north' })
    const remove = (db: Db) => removeBox({ ...room, db }, anOperator, { slug, confirm: slug, reason: 'it has left', now: false })
    const maintain = (on: boolean) => (db: Db) => maintainBox({ ...room, db }, anOperator, { slug, on, reason: 'its disk' })
    return { ...world, provision, adopt, remove, maintain }
  }
  const boxes = ({ db }: Pick<LifeWorld, 'db'>) =>
    db.selectFrom('boxes').select(['live', 'removal', 'set_up_attempt']).orderBy('id').execute()
  const open = async ({ db }: Pick<LifeWorld, 'db'>) =>
    (await db.selectFrom('commands').select('kind').where('status', '=', 'queued').orderBy('id').execute()).map(({ kind }) => kind)

  describe.each(['new', 'there already'])('a tenant that is %s', (which) => {
    const withTenant = async () => {
      const world = await begin()
      if (which !== 'new') await world.db.transaction().execute((tx) => createTenant(world.room, tx, wanted))
      return world
    }
    const one = [{ live: 0, removal: null, set_up_attempt: 1 }]

    test('gets one box from concurrent calls; the same call again returns it', async () => {
      const world = await withTenant()
      expect(await inThisOrder(world.db, world.provision, world.provision)).toEqual(['done', 'done'])
      expect([await boxes(world), await open(world)]).toEqual([one, ['tenant-box.provision']])
    })

    test('gets no second box by adoption', async () => {
      const world = await withTenant()
      expect(await inThisOrder(world.db, world.provision, world.adopt)).toEqual(['done', 'CONFLICT'])
      expect([await boxes(world), await open(world)]).toEqual([one, ['tenant-box.provision']])
    })

    test('whose stack is being adopted gets no second box', async () => {
      const world = await withTenant()
      expect(await inThisOrder(world.db, world.adopt, world.provision)).toEqual(['done', 'CONFLICT'])
      expect([await boxes(world), await open(world)]).toEqual([one, ['tenant-box.adopt']])
    })
  })

  describe('a box that never became ready', () => {
    const failed = async () => {
      const world = await begin()
      const { commandId } = await world.provision(world.db)
      await failCommand(world.room, commandId, 'expired')
      const late = (db: Db) => answerCommand({ ...world.room, db }, commandId, { report: aReport(slug), probe: aProbe() })
      return { ...world, late }
    }

    test('is not removed while a new attempt begins', async () => {
      const world = await failed()
      expect(await inThisOrder(world.db, world.provision, world.remove)).toEqual(['done', 'CONFLICT'])
      expect([await boxes(world), await open(world)]).toEqual([[{ live: 0, removal: null, set_up_attempt: 2 }], ['tenant-box.provision']])
    })

    test('gets no new attempt while it is removed: its ports may belong to others', async () => {
      const world = await failed()
      expect(await inThisOrder(world.db, world.remove, world.provision)).toEqual(['done', 'CONFLICT'])
      expect([await boxes(world), await open(world)]).toEqual([[{ live: 0, removal: 'removed', set_up_attempt: 1 }], ['tenant-box.remove']])
    })

    test('and was only read is not replaced by another folder while it is removed', async () => {
      const world = await begin()
      const adoptAt = (folder: string) => (db: Db) => adoptBox({ ...world.room, db }, anOperator, { ...wanted, folder, project: 'north' })
      await failCommand(world.room, (await adoptAt('/srv/nroth')(world.db)).commandId, 'expired')
      const late = await inThisOrder(world.db, world.remove, adoptAt('/srv/north'))
      // With concurrent reads the later call gets a conflict; afterwards it finds the slug free.
      expect(late).toEqual(['done', dialect === 'postgres' ? 'CONFLICT' : 'done'])
      expect((await boxes(world)).filter(({ removal }) => removal === 'erased')).toHaveLength(1)
    })

    test('is not erased when a late result makes it live: it is stopped with a last snapshot, or the call is refused', async () => {
      const world = await failed()
      const [, removed] = await inThisOrder(world.db, world.late, world.remove)
      expect(await boxes(world)).toEqual([{ live: 1, removal: null, set_up_attempt: 1 }])
      expect([[removed, ...(await open(world))]]).toContainEqual(removed === 'done' ? ['done', 'tenant-box.hand_over'] : ['CONFLICT'])
    })
  })

  test('of concurrent restore and erase, exactly one wins', async () => {
    const undo = (world: Awaited<ReturnType<typeof begin>>) => (db: Db) => undoRemoval({ ...world.room, db }, anOperator, slug)
    const erase = (world: Awaited<ReturnType<typeof begin>>) => (db: Db) =>
      removeBox({ ...world.room, db }, anOperator, { slug, confirm: slug, reason: 'at once', now: true })
    for (const [first, then, order] of [
      [undo, erase, 'tenant-box.take_back'],
      [erase, undo, 'tenant-box.remove'],
    ] as const) {
      const world = await begin()
      await world.aBox(slug)
      await world.remove(world.db)
      await world.answer('host-1', 'tenant-box.hand_over')
      const [one, other] = await inThisOrder(world.db, first(world), then(world))
      expect(one).toBe('done')
      expect(['CONFLICT', 'INVALID_TRANSITION']).toContain(other)
      expect(await open(world)).toEqual([order])
    }
  })

  describe('an observed stack', () => {
    const observed = async () => {
      const world = await begin()
      await world.aBox(slug)
      await world.db.updateTable('boxes').set({ managed: 0, folder: '/srv/north', project: 'north' }).execute()
      const bring = (db: Db) => importBox({ ...world.room, db }, anOperator, { slug, drop: [], reason: 'one of ours' })
      return { ...world, bring }
    }

    test('is not removed while it is imported', async () => {
      const world = await observed()
      expect(await inThisOrder(world.db, world.bring, world.remove)).toEqual(['done', 'CONFLICT'])
      expect([await boxes(world), await open(world)]).toEqual([[{ live: 1, removal: null, set_up_attempt: 1 }], ['tenant-box.import']])
    })

    test('is imported while its agent reports, without a deadlock', async () => {
      const world = await observed()
      const { db, clock } = world
      await db.updateTable('boxes').set({ first_port: null }).execute()
      const { host_id: hostId } = await db.selectFrom('boxes').select('host_id').executeTakeFirstOrThrow()
      const greeted = aGate()
      const speaking = db.transaction().execute(async (tx) => {
        await lockHost(tx, hostId) // as `hello` does
        await greeted.pass()
        await applyReports({ tx, clock }, hostId as HostId, [aReport(slug, { at: isoNow(clock), managed: false })])
      })
      await greeted.reached
      const asked = outcome(world.bring(db))
      await heldUpOrOver(db, asked)
      greeted.open()
      expect([await outcome(speaking), await asked]).toEqual(['done', 'done'])
    })

    test('is not imported while it is removed', async () => {
      const world = await observed()
      expect(await inThisOrder(world.db, world.remove, world.bring)).toEqual(['done', 'NOT_FOUND'])
      expect([await boxes(world), await open(world)]).toEqual([[{ live: 0, removal: 'erased', set_up_attempt: 1 }], []])
    })
  })

  test('a box that leaves maintenance while it enters it again stays closed and on hold', async () => {
    const world = await begin()
    const { db, clock, maintain } = world
    await world.aBox(slug)
    await maintain(true)(db)
    await world.answer('host-1', 'tenant-box.maintenance')
    await maintain(false)(db)
    const opening = await world.take('host-1')
    const opened = () => world.post('host-1', opening, { ok: true, result: goodAnswer(opening, isoNow(clock)) })
    expect(await inThisOrder(db, maintain(true), opened)).toEqual(['done', 'done'])
    const closed = async () => (await db.selectFrom('boxes').select('maintenance_reason').executeTakeFirstOrThrow()).maintenance_reason
    expect([await world.holds(), await closed()]).toEqual([['maintenance'], 'its disk'])
    await world.answer('host-1', 'tenant-box.maintenance')
    expect([await world.holds(), await closed()]).toEqual([['maintenance'], 'its disk'])
  })
})

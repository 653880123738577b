import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { changeBox } from '../../../src/daemon/boxes/boxes.repo.ts'
import { boxBySlug, holdsBySlug } from '../../../src/daemon/boxes/index.ts'
import { maintainBox } from '../../../src/daemon/boxes/lifecycle/maintain-box.ts'
import { moveBox } from '../../../src/daemon/boxes/lifecycle/move-box.ts'
import { removeBox } from '../../../src/daemon/boxes/lifecycle/remove-box.ts'
import { restartBox } from '../../../src/daemon/boxes/lifecycle/restart-box.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { restoreBox } from '../../../src/daemon/snapshots/restore-box.ts'
import { recordSnapshot } from '../../../src/daemon/snapshots/snapshots.repo.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aGate, heldUpOrOver, outcome, stoppedBeforeCommit } from '../../support/held-up.ts'
import { rolloutWorld, snapshotIdOf } from '../../support/rollout-world.ts'

const slug = 'acme'
const snapshotId = snapshotIdOf(slug)

/** A free box, a rollout that is due, and one replica per operation that takes the box. */
async function aBoxForAll(db: Db) {
  const world = await rolloutWorld(db, [{ slug }, { slug: 'beta' }])
  await world.started({ targetSlugs: [slug] })
  const box = (await boxBySlug(db, slug)) as NonNullable<Awaited<ReturnType<typeof boxBySlug>>>
  const taken = { snapshotId, tier: 'manual', takenAt: isoNow(world.clock), sha256: 'f'.repeat(64) } as const
  await db.transaction().execute((tx) => recordSnapshot({ tx, clock: world.clock }, box, taken))
  const rooms = {
    ...world.deps,
    settings: { ...world.deps.settings, backupKey: Buffer.alloc(32, 7).toString('base64'), snapshotStore: 'file:/srv/snapshots' },
    deadlineMs: 3_600_000,
    fixes: async () => [],
    versionsBefore: async () => null,
  }
  const reason = 'because'
  const takers: Record<Taker, (db: Db) => Promise<unknown>> = {
    rollout: (db) => makeRolloutEngine({ ...world.deps, db, owner: 'replica-2' }).tick(world.signal),
    restore: (db) => restoreBox({ ...rooms, db } as never, anOperator, { slug, snapshotId, reason, allowHole: false }),
    move: (db) => moveBox({ ...rooms, db } as never, anOperator, { slug, to: 'host-of-beta', reason }),
    removal: (db) => removeBox({ ...rooms, db } as never, anOperator, { slug, confirm: slug, reason, now: false }),
    maintenance: (db) => maintainBox({ ...rooms, db } as never, anOperator, { slug, on: true, reason }),
    restart: (db) => restartBox({ ...rooms, db } as never, anOperator, { slug, reason }),
  }
  const holder = async () => (await holdsBySlug(db, world.clock)).get(slug)?.holder.replace(/:.*/, '')
  const kinds = async () => (await world.open()).map(({ kind }) => kind)
  return { ...world, box, takers, holder, kinds }
}

const orders = {
  rollout: 'tenant-box.report_versions',
  restore: 'tenant-box.restore',
  move: 'tenant-box.hand_over',
  removal: 'tenant-box.hand_over',
  maintenance: 'tenant-box.maintenance',
  restart: 'tenant-box.restart',
} as const
type Taker = keyof typeof orders
const takers = Object.keys(orders) as Taker[]

/** A rollout waits for the hold; every other operation is refused with the owner of the hold or the open command. */
const told = (taker: Taker) => (taker === 'rollout' ? ['done'] : ['BOX_HELD', 'CONFLICT'])
/** A rollout has one owner, and closing a closed box changes nothing. */
const twice: readonly Taker[] = ['restore', 'move', 'removal', 'restart']
const pairs = takers.flatMap((first) =>
  takers.filter((then) => then !== first || twice.includes(first)).map((then) => [first, then] as const),
)

onBothDialects('a box taken by two operations concurrently', (fresh, dialect) => {
  test.each(pairs)('has one hold and one command: %s before %s', async (first, then) => {
    const db = await fresh()
    const { takers, holder, kinds } = await aBoxForAll(db)
    const written = aGate()
    const winner = takers[first](stoppedBeforeCommit(db, written))
    await written.reached
    const loser = outcome(takers[then](db))
    await heldUpOrOver(db, loser)
    written.open()
    expect(await outcome(winner)).toBe('done')
    expect(told(then)).toContain(await loser)
    expect([await holder(), await kinds()]).toEqual([first, [orders[first]]])
  })

  // Only PostgreSQL runs two reads at the same time.
  if (dialect === 'postgres')
    test.each(takers.filter((taker) => taker !== 'rollout'))(
      'is taken by %s in its current state: after a move, on its new host',
      async (taker) => {
        const db = await fresh()
        const { box, takers, open } = await aBoxForAll(db)
        const moved = aGate()
        const move = stoppedBeforeCommit(db, moved)
          .transaction()
          .execute((tx) => changeBox(tx, box, { host_id: 'hst_host-of-beta', ownership_epoch: 7 }))
        await moved.reached
        const late = outcome(takers[taker](db))
        await heldUpOrOver(db, late)
        moved.open()
        await move
        const ended = await late
        const orders = (await open()).map(({ hostId, payload }) => [hostId, (payload as { ownershipEpoch: number }).ownershipEpoch])
        if (taker === 'move')
          expect([ended, orders]).toEqual(['CONFLICT', []]) // it is there already
        else expect([ended, orders]).toEqual(['done', [['hst_host-of-beta', 7]]])
      },
    )
})

import { expect, onTestFinished, test } from 'vitest'
import { actionsToUpdate, insertActions, type StoredAction, untried } from '../../../src/daemon/rollouts/testing.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

// SQLite answers synchronously: many statements in a row must not block the event loop.

const until = '2026-01-05T03:00:00.000Z'
const slugs = Array.from({ length: 4000 }, (_, n) => `t${n}`)

const waiting = (rolloutId: string) => (slug: string) =>
  ({
    ...untried,
    ...{ rolloutId, tenantSlug: slug, hostId: 'h1', phase: 'free_100', status: 'pending', expectedMs: 1, expectedFenceMs: 0 },
    ...{ id: `${rolloutId}.${slug}`, boxId: `box_${slug}`, tier: 'free', attempt: 1, findings: [], rollback: null, from: {}, to: {} },
    ...{ step: null, commandId: null, progress: null, waitsUntil: null, waived: false },
  }) as unknown as StoredAction

test('observing thousands of boxes whose windows are closed yields to the event loop', async () => {
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const rolloutId = await (await rolloutWorld(db, [{ slug: 'acme' }])).started()
  await db.transaction().execute((tx) => insertActions(tx, slugs.map(waiting(rolloutId))))
  const closed = new Map(slugs.map((slug) => [slug, { window: 'Europe/Berlin', until }]))
  const windows = { closed, outdated: new Set(slugs) }
  let turns = 0
  let isOver = false
  const others = () => {
    turns++
    if (!isOver) setImmediate(others)
  }
  setImmediate(others)
  await actionsToUpdate(db, { rolloutId, phase: 'free_100', holds: new Map(), windows, limits: { parallel: 4, perHost: 1 } })
  isOver = true
  expect(turns).toBeGreaterThan(2)
})

import { expect, test } from 'vitest'
import { isProblem, manualClock } from '../../../src/core/kit/index.ts'
import { acquireLease, holdLease, type Lease, releaseLease, renewLease } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('leases', (fresh) => {
  const want = (owner: string) => ({ name: 'rollout:r1', owner, ttlMs: 30_000 })

  test('a second owner waits until the lease expires and then gets a higher token', async () => {
    const deps = { db: await fresh(), clock: manualClock() }
    const first = await acquireLease(deps, want('a'))
    expect(await acquireLease(deps, want('b'))).toBeUndefined()
    await deps.clock.advance(30_000)
    const second = await acquireLease(deps, want('b'))
    expect(second?.token).toBe((first?.token ?? 0) + 1)
    expect(await renewLease(deps, first as Lease, 30_000)).toBe(false)
  })

  test('an owner that acquires its lease again keeps the token', async () => {
    const deps = { db: await fresh(), clock: manualClock() }
    const first = await acquireLease(deps, want('a'))
    expect(await acquireLease(deps, want('a'))).toEqual(first)
  })

  test('writes of an owner that lost its lease fail', async () => {
    const deps = { db: await fresh(), clock: manualClock() }
    const first = (await acquireLease(deps, want('a'))) as Lease
    await releaseLease(deps, first)
    await acquireLease(deps, want('b'))
    const write = deps.db.transaction().execute((tx) => holdLease(tx, first))
    await expect(write).rejects.toSatisfy((error) => isProblem(error, 'LEASE_LOST'))
  })
})

import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { snapshotMetrics } from '../../../src/daemon/snapshots/index.ts'
import { aHost } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { goodAnswer } from '../../support/life-world.ts'
import { dayMs, snapshotsWorld } from '../../support/snapshots-world.ts'

// A completed move proves its snapshot: the box in use was created from it, counted and probed.

const north = { params: { slug: 'north' } }

onBothDialects('a take-over', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    await world.aBox('north')
    await aHost(world.room, 'host-2')
    await world.aBox('south', 'host-2')
    await world.clock.advance(40 * dayMs)
    await world.heard()
    /** Lets the agent of a host complete its next command, successfully or with the given outcome. */
    const goesOn = async (host: string, change: object = {}) => {
      const command = await world.take(host)
      const result = { ...goodAnswer(command, isoNow(world.clock)), ...change }
      await world.post(command, { ok: true, result }, host)
      return command
    }
    const handOver = async () => {
      await world.api.moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
      await goesOn('host-1')
    }
    const proof = async () => {
      const { snapshots } = await world.api.listSnapshots({ query: { slug: 'north' } })
      const [snapshot] = snapshots
      const { lastProvenRestore } = await world.api.showBox(north)
      return { listed: snapshot?.lastProof, status: snapshot?.status, shown: lastProvenRestore }
    }
    const late = async () => {
      const registry = new Registry()
      snapshotMetrics({ ...world.deps, registry })
      return /^tenantry_boxes_proof_late (\d+)$/m.exec(await registry.metrics())?.[1]
    }
    return { ...world, goesOn, handOver, proof, late }
  }

  test('that was committed verifies its snapshot', async () => {
    const { handOver, goesOn, proof, late, clock, db } = await setUp()
    await handOver()
    expect(await proof()).toEqual({ listed: null, status: 'present', shown: null })
    expect(await late()).toBe('2')
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'check' }).execute()
    const { payload } = await goesOn('host-2', { durationMs: 61_000.4 })
    const { snapshotId } = payload as { snapshotId: string }
    const at = isoNow(clock)
    expect(await proof()).toEqual({
      listed: { at, durationMs: 61_000 },
      status: 'present',
      shown: { at, durationMs: 61_000, snapshotId },
    })
    expect(await late()).toBe('1') // south's alone
  })

  test('that was not committed verifies nothing', async () => {
    const { handOver, goesOn, proof } = await setUp()
    await handOver()
    await goesOn('host-2', { outcome: 'failed', report: null, error: { code: 'RESTORE_FAILED', message: 'counts differ' } })
    expect(await proof()).toMatchObject({ listed: null, shown: null })
  })

  test('of a host that was declared dead meanwhile verifies nothing', async () => {
    const { handOver, take, post, proof, api, clock, db } = await setUp()
    await handOver()
    const command = await take('host-2')
    await clock.advance(91_000)
    await db
      .updateTable('hosts')
      .set({ last_seen_at: isoNow(clock) })
      .where('name', '=', 'host-1')
      .execute()
    await api.giveBackBox({ ...north, body: { newHostIsDead: 'host-2' } })
    await post(command, { ok: true, result: goodAnswer(command, isoNow(clock)) }, 'host-2').catch(() => undefined)
    expect(await proof()).toMatchObject({ listed: null, shown: null })
  })
})

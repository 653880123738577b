import { expect, test } from 'vitest'
import type { BoxCommandKind } from '../../../src/core/boxes/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { enqueueCommand, makeCommandBus } from '../../../src/daemon/hosts/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('commands enqueued by other replicas', (fresh) => {
  const setUp = async (hosts: number) => {
    const db = await fresh()
    const clock = manualClock()
    const bus = makeCommandBus()
    const woken: string[] = []
    const ids = Array.from({ length: hosts }, (_, nth) => `host_${nth}`)
    const at = clock.now().toISOString()
    for (const id of ids) {
      const host = { id, name: id, status: 'active' as const, key_id: id, public_key: '{}', retired_instances: '[]', enrolled_at: at }
      await db
        .insertInto('hosts')
        .values({ ...host, key_since: at } as never)
        .execute()
      void bus.untilQueued(id).notified.then(() => woken.push(id))
    }
    const queue = (kind: BoxCommandKind, hostId: string) => {
      const boxId = `box_${hostId}`
      const payload = { slug: 'acme', boxId, ownershipEpoch: 1 }
      const command = { id: `${kind}.${hostId}`, hostId, boxId, kind, payload, deadlineMs: 60_000 }
      return db.transaction().execute((tx) => enqueueCommand(tx, clock, command as never))
    }
    const look = async () => {
      await bus.poll(db)
      return woken.splice(0).sort()
    }
    return { db, ids, queue, look }
  }

  test('notifies each host of the commands', async () => {
    const { queue, look } = await setUp(3)
    await queue('tenant-box.report_versions', 'host_0')
    await queue('tenant-box.healthcheck', 'host_2')
    expect(await look()).toEqual(['host_0', 'host_2'])
  })

  test('read-only commands to a fleet notify ten hosts per pass, those that would poll last; interactive commands notify at once', async () => {
    const { ids, queue, look } = await setUp(30)
    for (const id of ids) await queue('tenant-box.report_versions', id)
    await queue('tenant-box.healthcheck', 'host_3')
    expect(await look()).toEqual(['host_3', ...ids.slice(20)].sort())
  })

  test('a revoked host is notified even without a command', async () => {
    const { db, look } = await setUp(2)
    await db.updateTable('hosts').set({ status: 'revoked' }).where('id', '=', 'host_1').execute()
    expect(await look()).toEqual(['host_1'])
  })
})

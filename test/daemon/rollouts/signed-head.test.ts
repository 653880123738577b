import { expect, test } from 'vitest'
import type { Checkpoint } from '../../../src/core/audit/index.ts'
import { publishSignedHead } from '../../../src/daemon/rollouts/testing.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

onBothDialects('the signed head of a rollout', (fresh) => {
  const setUp = async () => {
    const world = await rolloutWorld(await fresh(), [{ slug: 'acme', canary: true }])
    const id = await world.started()
    const head = (chain: string): Checkpoint => ({
      chain,
      count: 9,
      hash: 'ab',
      at: '2026-01-05T02:00:00.000Z',
      keyId: 'k',
      signature: 's',
    })
    const alerts = () => world.deps.db.selectFrom('alerts').selectAll().where('kind', '=', 'rollout_signed').execute()
    return { world, id, head, alerts }
  }

  test('is sent when the rollout is over, whole, and wants nobody to see to it', async () => {
    const { world, id, head, alerts } = await setUp()
    await world.settle()
    await publishSignedHead(world.deps, head(`rollout:${id}`))
    await publishSignedHead(world.deps, head(`rollout:${id}`)) // as after a crash
    const [alert, ...others] = await alerts()
    expect(others).toEqual([])
    expect(alert).toMatchObject({ subject: id, severity: 'info', status: 'closed' })
    expect(JSON.parse(alert?.body.split('\n').at(-1) ?? '')).toEqual(head(`rollout:${id}`))
  })

  test('is not sent while it goes on, nor that of another chain', async () => {
    const { world, id, head, alerts } = await setUp()
    await publishSignedHead(world.deps, head(`rollout:${id}`))
    await publishSignedHead(world.deps, head('admin'))
    await publishSignedHead(world.deps, head('rollout:ro_gone'))
    expect(await alerts()).toEqual([])
  })
})

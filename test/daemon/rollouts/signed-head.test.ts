import { expect, test } from 'vitest'
import type { Checkpoint } from '../../../src/core/audit/index.ts'
import { abortRollout, publishSignedHead } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
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
    await publishSignedHead({ ...world.deps, onDone: true }, head(`rollout:${id}`))
    await publishSignedHead({ ...world.deps, onDone: true }, head(`rollout:${id}`)) // as after a crash
    const [alert, ...others] = await alerts()
    expect(others).toEqual([])
    expect(alert).toMatchObject({ subject: id, severity: 'info', status: 'closed' })
    expect(JSON.parse(alert?.body.split('\n').at(-1) ?? '')).toEqual(head(`rollout:${id}`))
  })

  test('is not sent while it goes on, nor that of another chain', async () => {
    const { world, id, head, alerts } = await setUp()
    await publishSignedHead({ ...world.deps, onDone: true }, head(`rollout:${id}`))
    await publishSignedHead({ ...world.deps, onDone: true }, head('admin'))
    await publishSignedHead({ ...world.deps, onDone: true }, head('rollout:ro_gone'))
    expect(await alerts()).toEqual([])
  })

  test('of a rollout that is done is sent only where that is asked for', async () => {
    const { world, id, head, alerts } = await setUp()
    await world.settle()
    await publishSignedHead({ ...world.deps, onDone: false }, head(`rollout:${id}`))
    expect(await alerts()).toEqual([])
  })

  test('of an aborted rollout is sent once, when its last box has ended, whatever is signed later', async () => {
    const { world, id, head, alerts } = await setUp()
    const deps = { ...world.deps, onDone: false }
    await world.tick()
    await abortRollout(world.deps, anOperator, { id })
    await publishSignedHead(deps, head(`rollout:${id}`))
    expect(await alerts()).toEqual([])
    await world.settle()
    await publishSignedHead(deps, head(`rollout:${id}`))
    await publishSignedHead(deps, { ...head(`rollout:${id}`), count: 10 })
    expect(await alerts()).toMatchObject([{ subject: id, severity: 'warning', title: `Rollout ${id} was aborted; audit log signed` }])
  })
})

import { expect, test } from 'vitest'
import { boxCommands, Downtime } from '../../../src/core/boxes/index.ts'

const box = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }
const digest = `sha256:${'a'.repeat(64)}`
const synapse = (pinned: object) => ({ services: { synapse: { image: 'registry.test/synapse:v1', ...pinned } }, migrationsHead: '0000' })
const rest = { probe: { consecutive: 3, spacingMs: 1, timeoutMs: 1 }, fence: { mode: 'until-stable' }, deadlineMs: 1 }

test('an update needs a digest; a prefetch may resolve it', () => {
  const fits = (kind: 'tenant-box.update' | 'tenant-box.prefetch', pinned: object) =>
    boxCommands[kind].payload.safeParse({ ...box, ...rest, targets: synapse(pinned) }).success
  expect(fits('tenant-box.update', { digest })).toBe(true)
  expect(fits('tenant-box.update', {})).toBe(false)
  expect(fits('tenant-box.prefetch', {})).toBe(true)
})

test('an order and a result of an earlier build may name the mode that is gone', () => {
  const order = { ...box, ...rest, fence: { mode: 'until-stable', snapshot: 'alongside' }, targets: synapse({ digest }) }
  expect(boxCommands['tenant-box.update'].payload.parse(order).fence.snapshot).toBe('hot')
  expect(Downtime.parse({ mode: 'until-stable', snapshot: 'alongside' }).snapshot).toBe('hot')
  expect(Downtime.safeParse({ mode: 'until-stable', snapshot: 'later' }).success).toBe(false)
})

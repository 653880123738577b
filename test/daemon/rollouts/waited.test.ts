import { expect, test } from 'vitest'
import { makeCommandBus } from '../../../src/daemon/hosts/index.ts'
import { makeWaited } from '../../../src/daemon/rollouts/engine/waited.ts'

const aWaiting = () => {
  const bus = makeCommandBus()
  let stirred = 0
  const waited = makeWaited(bus, {
    stir: () => {
      stirred++
    },
  })
  const changed = async (id: string) => {
    bus.changed(id)
    await Promise.resolve()
  }
  return { waited, changed, stirred: () => stirred }
}

const looked = new Map([
  ['r1', [{ id: 'r1.acme', revision: 1 }]],
  ['r2', [{ id: 'r2.beta', revision: 1 }]],
])

test('a command that changed says which rollout goes on, and ends the wait', async () => {
  const { waited, changed, stirred } = aWaiting()
  waited.listen(looked)
  expect(waited.answered()).toEqual([])
  await changed('r2.beta')
  expect(waited.answered()).toEqual(['r2'])
  expect(stirred()).toBe(1)
})

test('a rollout that is about to be looked at has heard nothing since, and the others wait on', async () => {
  const { waited, changed, stirred } = aWaiting()
  waited.listen(looked)
  await changed('r1.acme')
  waited.forget(['r1'])
  await changed('r1.acme')
  expect(waited.answered()).toEqual([])
  await changed('r2.beta')
  expect(waited.answered()).toEqual(['r2'])
  expect(stirred()).toBe(2)
})

test('before all of them are looked at, none is waited for', async () => {
  const { waited, changed, stirred } = aWaiting()
  waited.listen(looked)
  waited.forget()
  await changed('r1.acme')
  await changed('r2.beta')
  expect([waited.answered(), stirred()]).toEqual([[], 0])
})

import { expect, test } from 'vitest'
import { RunQueue } from '../../../../src/daemon/modules/runs/run-queue.ts'

/** One thread; each run lasts until the next turn of the event loop. */
function aQueue() {
  const queue = new RunQueue({ slots: 1, perTenant: 4, maxWaiting: 100 })
  const started: string[] = []
  const run = (tenantId: string, moduleId: string, { isSlow = false } = {}) =>
    queue.run({
      ...{ tenantId, moduleId, isSlow: () => isSlow },
      run: async () => {
        started.push(`${moduleId} of ${tenantId}`)
        await new Promise((next) => setImmediate(next))
      },
    })
  return { started, run }
}
const tenants = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `ten_${from + n}`)

test('tenants are served one after the other', async () => {
  const { started, run } = aQueue()
  await Promise.all([...Array(5).fill('ten_0'), 'ten_1'].map((tenant) => run(tenant, 'lists')))
  expect(started.indexOf('lists of ten_1')).toBeLessThanOrEqual(2)
})

test('a module that hangs in many tenants does not delay other modules by more than one run', async () => {
  const { started, run } = aQueue()
  const hanging = tenants(50).map((tenant) => run(tenant, 'hangs', { isSlow: true }))
  await hanging[0] // from now on the module is known as slow
  const before = started.length
  await Promise.all(tenants(3, 50).map((tenant) => run(tenant, 'lists')))
  expect(started.length - before).toBeLessThanOrEqual(7)
  await Promise.all(hanging)
  expect(started).toHaveLength(53)
})

test('a module that is fast again waits like any other', async () => {
  const { started, run } = aQueue()
  await run('ten_0', 'hangs', { isSlow: true })
  await run('ten_0', 'hangs')
  await Promise.all([...tenants(4).map((tenant) => run(tenant, 'hangs')), run('ten_9', 'lists')])
  expect(started.at(-1)).toBe('lists of ten_9')
})

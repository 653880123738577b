import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { inSlices, oneOfTenant } from '../../../src/daemon/boards/board-work.ts'
import { sketch } from '../../core/boards/sketch.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTasksWorld, codeOf } from '../../support/tasks-world.ts'

test('computations take turns with each other and with other work, in slices of 20 ms', async () => {
  let ms = 0
  const clock = { ...manualClock(), monotonicMs: () => ms }
  const done: string[] = []
  function* steps(name: string) {
    for (let n = 1; n <= 4; n++) {
      done.push(`${name}${n}`)
      ms += 10
      yield
    }
    return name
  }
  setImmediate(() => setImmediate(() => done.push('other')))
  expect(await Promise.all(['a', 'b'].map((name) => inSlices({ clock }, steps(name))))).toEqual(['a', 'b'])
  expect(done.indexOf('other')).toBeLessThan(6)
  expect(done.filter((one) => one !== 'other')).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4', 'b3', 'b4'])
})

/** Work of a tenant that goes on until it is ended. */
function longWork(tenantId: string) {
  const running: string[] = []
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const begin = (name: string) =>
    oneOfTenant({ tenantId }, async () => {
      running.push(name)
      await ended
    })
  return { running, begin, end: () => end() }
}

test('of one tenant one check or simulation runs at a time; those of others do not wait', async () => {
  const [one, two] = [longWork('ten_one'), longWork('ten_two')]
  const all = [one.begin('first'), one.begin('second'), two.begin('other')]
  await new Promise(setImmediate)
  expect([one.running, two.running]).toEqual([['first'], ['other']])
  one.end()
  two.end()
  await Promise.all(all)
  expect(one.running).toEqual(['first', 'second'])
})

onBothDialects('boards of one tenant', (fresh) => {
  test('are refused while ten checks and simulations of it wait', async () => {
    const one = await aTasksWorld(await fresh())
    const mia = one.as('mia')
    const params = { id: (await mia.createBoard({ body: { name: 'Crisis', definition: sketch('s > t1 > e') } })).id }
    const { begin, end } = longWork('ten_one')
    const all = Array.from({ length: 11 }, (_, n) => begin(`${n}`))
    for (const call of [mia.simulateBoard, mia.checkBoard, mia.publishBoard]) expect(await codeOf(call({ params }))).toBe('RATE_LIMITED')
    end()
    await Promise.all(all)
    expect(await mia.simulateBoard({ params })).toMatchObject({ outcome: 'waiting' })
  })
})

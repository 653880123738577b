import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { notifyOnCommit } from '../../../src/daemon/db/commit-notifications.ts'
import type { Loop, Round } from '../../../src/daemon/feature/index.ts'
import { runLoops } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'

onBothDialects('loops', (fresh) => {
  /** A replica whose loop runs every ten seconds. */
  async function aWorld() {
    const [db, clock] = [await fresh(), manualClock()]
    const warned: unknown[] = []
    const log = { ...silentLogger(), warn: (fields: unknown) => void warned.push(fields) }
    const rounds: string[] = []
    let running = 0
    const start = (owner: string, more: Partial<Loop> = {}) => {
      running++
      const stop = new AbortController()
      const run = async (_: Round) => void rounds.push(owner)
      const loop = { name: 'look around', everyMs: 10_000, run, ...more } as Loop
      const over = runLoops({ db, clock, log, owner }, [loop], stop.signal)
      return async () => {
        if (!stop.signal.aborted) running--
        stop.abort()
        await Promise.all(over)
      }
    }
    const advance = async (ms: number) => {
      await expect.poll(() => clock.sleepers()).toBe(running)
      const before = rounds.length
      await clock.advance(ms)
      return async (count: number) => expect.poll(() => rounds.length - before).toBe(count)
    }
    return { db, clock, rounds, warned, start, advance }
  }

  test('a round follows each pause, and what was notified during a round is not lost', async () => {
    const { rounds, start, advance } = await aWorld()
    let wake = () => {}
    const stop = start('one', {
      run: async (round: Round) => {
        wake = round.wake
        if (rounds.push('one') === 2) wake()
      },
    })
    await expect.poll(() => rounds.length).toBe(1)
    await (await advance(9_999))(0)
    await (await advance(1))(2)
    wake()
    await expect.poll(() => rounds.length).toBe(4)
    await stop()
  })

  test('a commit reaches each loop that listens', async () => {
    const { db, start } = await aWorld()
    const heard: string[] = []
    const stop = start('one', { onCommit: (topic) => void heard.push(topic) })
    await expect
      .poll(async () => {
        await db.transaction().execute((tx) => notifyOnCommit(tx, 'tenant:ten_1'))
        return heard[0]
      })
      .toBe('tenant:ten_1')
    await stop()
  })

  test('a loop that fails continues, and says so once a minute', async () => {
    const { rounds, warned, start, clock } = await aWorld()
    const run = async () => {
      rounds.push('one')
      throw new Error('no luck')
    }
    const stop = start('one', { run })
    for (let nth = 1; nth <= 7; nth++) {
      await expect.poll(() => [rounds.length, clock.sleepers()]).toEqual([nth, 1])
      await clock.advance(10_000)
    }
    expect(warned).toHaveLength(2)
    await stop()
  })

  test('a loop with a lease runs on one replica, which releases it when it stops', async () => {
    const { rounds, start, advance } = await aWorld()
    const lease = { name: 'look', ttlMs: 30_000 }
    const stops = [start('one', { lease }), start('two', { lease })]
    await expect.poll(() => rounds).toHaveLength(1)
    await (await advance(10_000))(1)
    const [first = ''] = rounds
    expect(new Set(rounds)).toEqual(new Set([first]))
    await stops[first === 'one' ? 0 : 1]?.()
    await (await advance(10_000))(1)
    expect(rounds.at(-1)).not.toBe(first)
    await Promise.all(stops.map((stop) => stop()))
  })
})

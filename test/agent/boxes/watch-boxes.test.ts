import { expect, test } from 'vitest'
import { boxWatcher } from '../../../src/agent/boxes/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'

const names = (count: number) => Array.from({ length: count }, (_, n) => `box-${n}`)

/** Boxes with scripted checks. */
async function aWatch(slugs: readonly string[], { unreadable = [] }: Readonly<{ unreadable?: readonly string[] }> = {}) {
  const closed = new Set<string>()
  const clock = manualClock()
  const startMs = clock.monotonicMs()
  const down = new Set<string>()
  const hanging = new Set<string>()
  const restarts = new Map<string, number>()
  const checks: { slug: string; writes: boolean; atS: number }[] = []
  let changes = 0
  const boxes = slugs.map((slug) => ({ slug, project: { name: slug } }) as LocalBox)
  const watcher = boxWatcher({
    clock,
    boxes: { list: async () => boxes },
    isFenced: async ({ slug }) => {
      if (unreadable.includes(slug)) throw new Error('EIO')
      return closed.has(slug)
    },
    engine: {
      containers: async ({ name }) =>
        [{ id: `id-${name}`, service: 'synapse', state: 'running', restartCount: restarts.get(name) ?? 0 }] as never,
    },
    servers: {
      check: async ({ slug }, writes, signal) => {
        checks.push({ slug, writes, atS: Math.round((clock.monotonicMs() - startMs) / 1000) })
        if (hanging.has(slug)) await clock.sleep(10_000, signal)
        const ok = { ok: true, ms: 1 }
        const failed = { ok: false, ms: 1, error: 'no answer' }
        const components = { chatApi: ok, chatSync: down.has(slug) ? failed : ok, database: ok, objectStorage: ok }
        return { at: isoNow(clock), verdict: down.has(slug) ? 'failed' : 'ok', components }
      },
    },
  })
  const leaving = new AbortController()
  const running = watcher.run(() => {
    changes += 1
  }, leaving.signal)
  /** Lets checks end between steps of the clock. */
  const settle = async () => {
    for (let round = 0; round < 12; round++) await new Promise((resolve) => setImmediate(resolve))
  }
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await settle()
      await clock.advance(1000)
    }
    await settle()
  }
  return {
    ...{ watcher, closed, down, hanging, restarts, checks, pass },
    /** Calls but the one after the first check of all boxes. */
    changes: () => changes - 1,
    calls: () => changes,
    end: async () => {
      leaving.abort()
      await running
    },
  }
}

test('each box is checked once a minute, and writes every 15 minutes', async () => {
  const watch = await aWatch(names(3))
  await watch.pass(16 * 60)
  for (const slug of names(3)) {
    const own = watch.checks.filter((check) => check.slug === slug)
    expect(own.length).toBeGreaterThanOrEqual(15)
    expect(own.length).toBeLessThanOrEqual(17)
    expect(own.filter(({ writes }) => writes).length).toBe(1)
  }
  expect(watch.changes()).toBe(0)
  await watch.end()
})

test('a failure is told once it was there twice, and its end soon after', async () => {
  const watch = await aWatch(['linden'])
  await watch.pass(30)
  watch.down.add('linden')
  await watch.pass(31)
  expect([watch.changes(), watch.watcher.found('linden')?.check.verdict]).toEqual([0, 'ok'])
  await watch.pass(10)
  expect([watch.changes(), watch.watcher.found('linden')?.check.verdict]).toEqual([1, 'failed'])
  watch.down.delete('linden')
  await watch.pass(17)
  expect([watch.changes(), watch.watcher.found('linden')?.check.verdict]).toEqual([2, 'ok'])
  await watch.end()
})

test('a box whose container changes is checked within seconds, also one that starts again and again', async () => {
  const watch = await aWatch(['linden', 'ahorn'])
  await watch.pass(10)
  watch.down.add('linden')
  watch.watcher.containerChanged('linden')
  await watch.pass(12)
  expect([watch.changes(), watch.watcher.found('linden')?.check.verdict]).toEqual([1, 'failed'])
  expect(watch.checks.filter(({ slug }) => slug === 'ahorn')).toHaveLength(1)
  await watch.end()
})

test('one failure between two good checks is not told', async () => {
  const watch = await aWatch(['linden'])
  await watch.pass(30)
  watch.down.add('linden')
  await watch.pass(32)
  watch.down.delete('linden')
  await watch.pass(60)
  expect(watch.changes()).toBe(0)
  await watch.end()
})

test('a closed box is left alone, and nothing that was found before holds', async () => {
  const watch = await aWatch(['linden', 'ahorn'])
  await watch.pass(10)
  watch.closed.add('linden')
  await watch.pass(70)
  expect(watch.watcher.found('linden')).toBeUndefined()
  const before = watch.checks.filter(({ slug }) => slug === 'linden').length
  await watch.pass(180)
  expect(watch.checks.filter(({ slug }) => slug === 'linden').length).toBe(before)
  expect(watch.watcher.times()).toEqual({ checkedAt: watch.watcher.found('ahorn')?.check.at })
  watch.closed.delete('linden')
  await watch.pass(70)
  expect(watch.watcher.found('linden')?.check.verdict).toBe('ok')
  await watch.end()
})

test('boxes that hang do not keep the others from their check', async () => {
  const watch = await aWatch(names(12))
  for (const slug of names(3)) watch.hanging.add(slug)
  await watch.pass(5 * 60)
  for (const slug of names(12).slice(3)) expect(watch.checks.filter((check) => check.slug === slug).length).toBeGreaterThanOrEqual(4)
  await watch.end()
})

test('restarts of a container within 15 minutes are counted, and told from the third on', async () => {
  const watch = await aWatch(['linden'])
  await watch.pass(10)
  watch.restarts.set('linden', 2)
  await watch.pass(60)
  expect([watch.changes(), watch.watcher.found('linden')?.restarts]).toEqual([0, { synapse: 2 }])
  watch.restarts.set('linden', 4)
  await watch.pass(60)
  expect([watch.changes(), watch.watcher.found('linden')?.restarts]).toEqual([1, { synapse: 4 }])
  await watch.pass(17 * 60)
  expect([watch.changes(), watch.watcher.found('linden')?.restarts]).toEqual([2, {}])
  await watch.end()
})

test('after the first check of all boxes a report replaces what the daemon knew before, once', async () => {
  const watch = await aWatch(names(5), { unreadable: ['box-2'] })
  await watch.pass(5 * 60)
  expect(watch.calls()).toBe(1)
  await watch.end()
})

test('while a box cannot be read, the time of the last checks stays', async () => {
  const unreadable: string[] = []
  const watch = await aWatch(names(2), { unreadable })
  await watch.pass(30)
  const [{ check } = expect.fail()] = [watch.watcher.found('box-0')]
  unreadable.push('box-0')
  await watch.pass(10 * 60)
  expect(watch.watcher.times()).toEqual({ checkedAt: check.at })
  await watch.end()
})

test('a box that was never checked says since when, until its first check', async () => {
  const unreadable = ['box-0']
  const watch = await aWatch(names(2), { unreadable })
  await watch.pass(0)
  const began = watch.watcher.times()
  expect(began).toEqual({ uncheckedSince: expect.any(String) })
  await watch.pass(10 * 60)
  expect(watch.watcher.times()).toEqual(began)
  unreadable.pop()
  await watch.pass(60)
  expect(watch.watcher.times()).toEqual({ checkedAt: expect.any(String) })
  await watch.end()
})

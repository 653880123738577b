import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ArchivePart, isBaseDue, lsnText } from '../../../src/core/boxes/index.ts'
import { type Archive, archiveRanges, chainTo, expiredParts, momentAt, readMoment } from '../../../src/core/snapshots/index.ts'

const begin = Date.parse('2026-11-01T00:00:00.000Z')
const minute = (n: number) => new Date(begin + n * 60_000).toISOString()
let ids = 0
const id = () => (ids++).toString(16).padStart(64, '0')
type Part = Readonly<{ from: number; to: number; at: number; line?: string; snapshotId?: string }>
const aPart = (kind: ArchivePart['kind'], { from, to, at, line = 'one', snapshotId = id() }: Part): ArchivePart => ({
  ...{ snapshotId, kind, line, addedBytes: 1 },
  from: lsnText(BigInt(from)),
  to: lsnText(BigInt(to)),
  at: minute(at),
})
const base = (part: Part) => aPart('base', part)
const log = (part: Part) => aPart('log', part)
const only = (parts: readonly ArchivePart[], covered: Archive['covered'] = null): Archive => ({ parts, covered })

describe('the chain to a moment', () => {
  const [nightly, newer] = [base({ from: 100, to: 120, at: 10 }), base({ from: 300, to: 310, at: 30 })]
  const [a, b, c] = [log({ from: 96, to: 200, at: 20 }), log({ from: 200, to: 320, at: 31 }), log({ from: 320, to: 400, at: 40 })]
  const archive = only([c, b, newer, a, nightly])

  test.each([
    ['of the last part', 'latest', newer, [b, c], 40],
    ['after the newest base', minute(35), newer, [b, c], 40],
    ['between the bases ends with the first part that has it', minute(15), nightly, [a], 20],
    ['of the very moment of a part', minute(20), nightly, [a], 20],
  ] as const)('%s', (_, to, from, logs, at) => {
    expect(chainTo(archive, to)).toEqual({ base: from, logs, at: minute(at) })
  })

  test('no chain reaches a moment before the first base, or after the last part', () => {
    expect([minute(9), minute(41)].map((to) => chainTo(archive, to))).toEqual([undefined, undefined])
    expect(archiveRanges(archive)).toEqual([{ from: minute(10), to: minute(40) }])
  })

  test('an idle box is covered after its last part, on the same line only', () => {
    expect(chainTo(only(archive.parts, { line: 'one', at: minute(50) }), minute(45))?.at).toBe(minute(50))
    expect(chainTo(only(archive.parts, { line: 'two', at: minute(50) }), minute(45))).toBeUndefined()
  })

  test('a gap ends the chain, and what is after it needs a base of its own', () => {
    const gap = only([nightly, a, newer, log({ from: 290, to: 320, at: 31 }), c])
    expect(archiveRanges(gap)).toEqual([
      { from: minute(30), to: minute(40) },
      { from: minute(10), to: minute(20) },
    ])
    expect(chainTo(gap, minute(25))).toBeUndefined()
  })

  test('a base whose own log is not complete restores nothing', () => {
    expect(chainTo(only([nightly, log({ from: 96, to: 119, at: 20 })]), 'latest')).toBeUndefined()
  })

  test('the log of another line never continues a chain', () => {
    expect(chainTo(only([nightly, log({ from: 96, to: 400, at: 40, line: 'two' })]), 'latest')).toBeUndefined()
  })
})

describe('an archive of a week that was never thinned', () => {
  const segment = 16 * 1024 * 1024
  /** A part each 45 seconds, and a new window each hour. */
  const parts = Array.from({ length: 7 * 1900 }, (_, n) => {
    const window = Math.floor((n - (n % 80)) * 12_345)
    return log({ from: window - (window % segment), to: (n + 1) * 12_345, at: n * 0.75 })
  })
  const bases = Array.from({ length: 7 }, (_, n) => base({ from: n * 1900 * 12_345, to: n * 1900 * 12_345 + 100, at: n * 1425 }))
  const whole = only([...bases, ...parts])

  test('is worked out without stopping the daemon', () => {
    const began = performance.now()
    const expired = new Set(expiredParts(whole.parts, { days: 14, now: minute(7 * 1425) }))
    expect(whole.parts.length - expired.size).toBeLessThan(7 * 40)
    expect(archiveRanges(whole)).toEqual([{ from: minute(0), to: parts.at(-1)?.at }])
    expect(chainTo(whole, minute(5000))?.base).toBe(bases[3])
    expect(chainTo(whole, 'latest')?.base).toBe(bases[6])
    // Comparing each part with each takes ten minutes.
    expect(performance.now() - began).toBeLessThan(20_000)
  }, 30_000)
})

/** A line as an agent makes it: hourly windows that are stored again while they grow, and a base now and then, each part perhaps lost. */
const lineArbitrary = fc
  .record({
    line: fc.constantFrom('one', 'two'),
    start: fc.integer({ min: 0, max: 40_000 }),
    steps: fc.array(fc.record({ grows: fc.integer({ min: 0, max: 3 }), minutes: fc.integer({ min: 1, max: 900 }), kind: fc.nat(9) }), {
      maxLength: 60,
    }),
  })
  .map(({ line, start, steps }) => {
    const parts: ArchivePart[] = []
    let [position, window, at] = [1_000, 1_000, start]
    for (const { grows, minutes, kind } of steps) {
      at += minutes
      const from = position
      position += grows + 1
      if (kind === 0) parts.push(base({ line, from, to: position, at }))
      else if (kind > 1) parts.push(log({ line, from: window, to: position, at }))
      if (kind > 6) window = position
    }
    return parts
  })

describe('retention', () => {
  const now = minute(60 * 24 * 30)
  const rule = { days: 14, now }
  const since = minute(60 * 24 * 16)

  test('every moment of the kept days that could be restored still can, and a second run expires nothing more', () => {
    fc.assert(
      fc.property(lineArbitrary, fc.array(fc.integer({ min: 0, max: 60 * 24 * 14 }), { minLength: 1, maxLength: 10 }), (parts, minutes) => {
        const expired = new Set(expiredParts(parts, rule))
        const left = parts.filter(({ snapshotId }) => !expired.has(snapshotId))
        expect(expiredParts(left, rule)).toEqual([])
        const moments = [...minutes.map((n) => minute(60 * 24 * 16 + n)), ...parts.map(({ at }) => at)].filter((at) => at > since)
        for (const to of moments) expect(chainTo(only(left), to) !== undefined).toBe(chainTo(only(parts), to) !== undefined)
        const latest = chainTo(only(parts), 'latest')
        if (latest && latest.at > since) expect(chainTo(only(left), 'latest')?.at).toBe(latest.at)
      }),
    )
  })

  test('a window that was stored again and again stays once', () => {
    const parts = [base({ from: 100, to: 110, at: 40_000 }), ...[120, 130, 140].map((to, n) => log({ from: 96, to, at: 40_001 + n }))]
    expect(expiredParts(parts, rule)).toEqual(parts.slice(1, 3).map(({ snapshotId }) => snapshotId))
  })

  test('a base and its log expire once a later base is older than the days that are kept', () => {
    const day = 60 * 24
    const parts = [0, 5, 10, 20, 29].flatMap((n) => [
      base({ from: 100 * n, to: 100 * n + 1, at: day * n }),
      log({ from: 100 * n, to: 100 * n + 600, at: day * n + 60 }),
    ])
    const expired = new Set(expiredParts(parts, rule))
    expect(parts.filter(({ snapshotId }) => expired.has(snapshotId)).map(({ kind, at }) => `${kind} ${at.slice(0, 10)}`)).toEqual([
      'base 2026-11-01',
      'log 2026-11-01',
      'base 2026-11-06',
    ])
  })

  test('the log before the first base is kept while the base may be on its way', () => {
    expect(expiredParts([log({ from: 1, to: 2, at: 60 * 24 * 29 })], rule)).toEqual([])
    expect(expiredParts([log({ from: 1, to: 2, at: 60 * 24 * 15 })], rule)).toHaveLength(1)
  })
})

test.each([
  ['2026-11-27 14:03', '2026-11-27T14:03:00.000Z'],
  ['2026-11-27T14:03:05Z', '2026-11-27T14:03:05.000Z'],
  ['2026-11-27 15:03+01:00', '2026-11-27T14:03:00.000Z'],
  ['2026-13-27 14:03', undefined],
  ['2026-02-30 14:03', undefined],
  ['2028-02-29 14:03', '2028-02-29T14:03:00.000Z'],
  ['yesterday', undefined],
] as const)('the moment %s is %s', (text, at) => {
  expect(readMoment(text)).toBe(at)
})

test.each([
  [undefined, '2026-11-27T14:00:00Z', true],
  ['2026-11-27T03:00:00Z', '2026-11-27T14:00:00Z', false],
  ['2026-11-27T02:00:00Z', '2026-11-27T02:31:00Z', true],
  ['2026-11-27T02:00:00Z', '2026-11-27T02:29:00Z', false],
  ['2026-11-26T03:00:00Z', '2026-11-27T02:29:00Z', false],
  ['2026-11-26T03:00:00Z', '2026-11-28T01:00:00Z', true],
])('after a base of %s one is due at %s: %j', (last, now, due) => {
  expect(isBaseDue(last, now)).toBe(due)
})

test('each moment of the ranges is as likely as another', () => {
  const ranges = [
    { from: minute(100), to: minute(130) },
    { from: minute(0), to: minute(10) },
  ]
  expect([0, 0.5, 0.75, 0.8, 1].map((fraction) => momentAt(ranges, fraction))).toEqual([100, 120, 130, 2, 10].map(minute))
  expect(momentAt([], 0.5)).toBeUndefined()
})

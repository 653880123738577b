import { render } from 'ink-testing-library'
import { describe, expect, test } from 'vitest'
import { paintWith } from '../../../src/cli/kit/index.ts'
import { Screen, type TopState } from '../../../src/cli/limits/board.tsx'
import { bare, displayWidth } from '../../../src/core/kit/index.ts'
import type { RateLimits, TenantUse } from '../../../src/core/limits/index.ts'
import { problemAnswer, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const aUse = (slug: string, change: Partial<TenantUse> = {}): TenantUse => ({
  tenantId: `ten_${slug}`,
  slug,
  name: `The ${slug}`,
  plan: 'light',
  budget: 2000,
  used: 100,
  remaining: 1900,
  utilisation: 5,
  slowdownMs: 0,
  ...change,
})

const answer: RateLimits = {
  windowSeconds: 60,
  store: 'redis',
  tenants: [
    aUse('anna-schule', { used: 2000, remaining: 0, utilisation: 100, slowdownMs: 2000 }),
    aUse('kita-nord', {
      plan: 'pro',
      budget: 10_000,
      used: 8950,
      remaining: 1050,
      utilisation: 89.5,
      slowdownMs: 1000,
      name: 'Kita\u001b[31m Nord',
    }),
    aUse('still', { used: 0, remaining: 2000, utilisation: 0 }),
  ],
  nextCursor: null,
}
const path = 'GET /admin/rate-limits'

describe('limits top', () => {
  test('prints a table once without a terminal', async () => {
    const ran = await tenantry(['limits', 'top'], { answers: { [path]: answer } })
    expect([ran.exit, ran.asked.length]).toEqual([0, 1])
    expect(ran.stdout).toMatch(/^kita-nord +89\.5 % +━+┄┄ +8950 +10000 +1\.00 s +pro /m)
    expect(ran.stdout).toMatch(/^anna-schule +100\.0 % +━+ +2000 +2000 +refused +light /m)
  })

  test('breaks no word at the edge of a narrow terminal', async () => {
    const { stdout } = await tenantry(['limits', 'top', '--once'], { answers: { [path]: { ...answer, nextCursor: 'c' } }, columns: 50 })
    expect(
      Math.max(
        ...bare(stdout)
          .split('\n')
          .map((line) => displayWidth(line)),
      ),
    ).toBeLessThanOrEqual(50)
    expect(bare(stdout).replaceAll('\n', ' ')).toContain('filter with --above <percent>')
  })

  test("does so on a CI job's terminal and with --once too", async () => {
    const inCi = await tenantry(['limits', 'top'], { answers: { [path]: answer }, columns: 100, env: { CI: 'true' } })
    const once = await tenantry(['limits', 'top', '--once'], { answers: { [path]: answer }, columns: 100 })
    for (const { asked, stdout } of [inCi, once]) expect([asked.length, stdout.includes('anna-schule')]).toEqual([1, true])
  })

  test('prints exactly the answer with --json', async () => {
    const { stdout } = await tenantry(['limits', 'top', '--json'], { answers: { [path]: answer } })
    expect(JSON.parse(stdout)).toEqual(answer)
  })

  test('sends the typed filters', async () => {
    const { asked } = await tenantry(['limits', 'top', '--plan', 'light', '--above', '0', '--limit', '7'], { answers: { [path]: answer } })
    expect(Object.fromEntries(new URLSearchParams(asked[0]?.search))).toEqual({ plan: 'light', above: '0', limit: '7' })
  })

  test('a daemon that does not answer is UNAVAILABLE', async () => {
    const away = problemAnswer(503, { code: 'UNAVAILABLE', message: 'the store of request budgets does not answer', retryable: true })
    const { exit, stderr } = await tenantry(['limits', 'top'], { answers: { [path]: away } })
    expect([exit, stderr.includes('does not answer')]).toEqual([6, true])
  })
})

describe('the board', () => {
  const style = { width: 80, colour: false, paint: paintWith(false), now: new Date(at('02:07:09')) }
  const frame = (state: TopState, rows = 24, keys = true) => {
    const { lastFrame, unmount } = render(<Screen state={state} style={style} rows={rows} keys={keys} />)
    const text = lastFrame() ?? ''
    unmount()
    return text
  }

  test('keeps the last response while the daemon is away, with the error', () => {
    const error = 'http://127.0.0.1:8440 does not answer; retrying'
    const [shown, away] = [frame({ limits: answer, error: undefined }), frame({ limits: answer, error })]
    expect(shown).toMatch(/all daemons +02:07:09 UTC$/m)
    expect(shown).toMatch(/^kita-nord +89\.5 % +8950 +10000 +1\.00 s +pro /m)
    expect(away).toBe(shown.replace('\nq: quit', `\n${error}\n\nq: quit`))
  })

  test('stays within 80 × 24', () => {
    const many = {
      ...answer,
      tenants: Array.from({ length: 60 }, (_, n) => aUse(`tenant-with-a-long-name-${n}`, { name: 'x'.repeat(100) })),
    }
    const text = frame({ limits: many, error: 'x'.repeat(200) })
    expect(text.split('\n').length).toBeLessThan(24)
    expect(Math.max(...text.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(80)
  })
})

import { expect, test } from 'vitest'
import type { CommandExecutors } from '../../src/agent/ports/index.ts'
import { inWallTime } from '../../src/demo/simulated-agent.ts'

test('what an agent of the demonstration measured is told as it passed for everybody else, and nothing else of it changes', async () => {
  const result = {
    outcome: 'rolled_back',
    durationMs: 600_000,
    fencedMs: 59,
    restored: { from: 'cold-copy', tookMs: 6_000 },
    probes: [{ at: '2026-01-05T02:00:00.000Z', components: { chatApi: { ok: true, ms: 120 } } }],
    snapshotId: null,
  }
  const executors = { 'tenant-box.update': async () => result } as unknown as CommandExecutors
  const told = await inWallTime(60, executors)['tenant-box.update']({} as never, {} as never)
  expect(told).toEqual({ ...result, durationMs: 10_000, fencedMs: 1, restored: { from: 'cold-copy', tookMs: 100 } })
})

test('an answer that somebody waits for has the time that passes for them', async () => {
  const given: unknown[] = []
  const executors = { 'tenant-box.resolve_images': async (_: unknown, payload: unknown) => void given.push(payload) } as unknown
  await inWallTime(60, executors as CommandExecutors)['tenant-box.resolve_images']({} as never, { withinMs: 3_500, slug: 'oak' } as never)
  expect(given).toEqual([{ withinMs: 210_000, slug: 'oak' }])
})

import { expect, test } from 'vitest'
import type { CommandExecutors } from '../../src/agent/ports/index.ts'
import { inWallTime } from '../../src/demo/simulated-agent.ts'

test('durations in results are converted to wall-clock time, all else is unchanged', async () => {
  const result = {
    outcome: 'rolled_back',
    durationMs: 600_000,
    fencedMs: 59,
    restored: { from: 'cold-copy', tookMs: 6_000 },
    probes: [{ at: '2026-01-05T02:00:00.000Z', components: { chatApi: { ok: true, ms: 120 } } }],
    snapshotId: null,
  }
  const executors = { 'tenant-box.update': async () => result } as unknown as CommandExecutors
  const converted = await inWallTime(60, executors)['tenant-box.update']({} as never, {} as never)
  expect(converted).toEqual({ ...result, durationMs: 10_000, fencedMs: 1, restored: { from: 'cold-copy', tookMs: 100 } })
})

test('timeouts in payloads are converted to simulated time', async () => {
  const payloads: unknown[] = []
  const executors = { 'tenant-box.resolve_images': async (_: unknown, payload: unknown) => void payloads.push(payload) } as unknown
  await inWallTime(60, executors as CommandExecutors)['tenant-box.resolve_images']({} as never, { withinMs: 3_500, slug: 'oak' } as never)
  expect(payloads).toEqual([{ withinMs: 210_000, slug: 'oak' }])
})

import { expect, test } from 'vitest'
import { nextReports } from '../../../src/agent/archive/archive-loop.ts'
import type { ArchivePart } from '../../../src/core/boxes/index.ts'
import { type ArchiveReport, channelLimits } from '../../../src/core/hosts/index.ts'

const part: ArchivePart = {
  ...{ snapshotId: 'a'.repeat(64), kind: 'log', line: 'x'.repeat(20), from: 'FF/ABCDEF01', to: 'FF/ABCDEF01' },
  ...{ at: '2026-11-30T06:00:00.000Z', addedBytes: 123_456_789 },
}
const aReport = (n: number, parts: number): ArchiveReport => ({
  ...{ boxId: `box_${String(n).padStart(22, '0')}`, ownershipEpoch: 1, covered: { line: part.line, at: part.at } },
  ...{ parts: Array.from({ length: parts }, () => part), error: { code: 'SNAPSHOT_STORE_UNAVAILABLE', message: 'm'.repeat(500) } },
})

test('what a host stored while the daemon was away for hours fits into its next calls, and all of it is reported', () => {
  let waiting = Array.from({ length: channelLimits.reports }, (_, n) => aReport(n, 250))
  let calls = 0
  for (; waiting.some(({ parts }) => parts.length > 0); calls++) {
    const reports = nextReports(waiting)
    expect(Buffer.byteLength(JSON.stringify({ reports, secrets: true }))).toBeLessThan(channelLimits.reportsBytes)
    waiting = waiting.map((report, n) => ({ ...report, parts: report.parts.slice(reports[n]?.parts.length) }))
  }
  expect(calls).toBeLessThan(80)
})

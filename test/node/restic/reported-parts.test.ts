import { expect, test } from 'vitest'
import { type ArchivePart, lsnText } from '../../../src/core/boxes/index.ts'
import { channelLimits } from '../../../src/core/hosts/index.ts'
import { maintainRepository, type Repository, type RepositoryMaintenance, type StoredSnapshot } from '../../../src/node/restic/index.ts'

const id = (n: number) => n.toString(16).padStart(64, '0')
const part = (n: number, to: number): ArchivePart => ({
  ...{
    snapshotId: id(n),
    kind: 'log',
    line: 'x'.repeat(20),
    from: lsnText(BigInt(n - (n % 80))),
    to: lsnText(BigInt(to)),
    addedBytes: 123_456,
  },
  at: new Date(Date.UTC(2026, 10, 1) + n * 45_000).toISOString(),
})

test('a report about a repository that was not thinned for days fits into a result, and lacks nothing that a recovery may use', async () => {
  const parts = Array.from({ length: 6 * 1900 }, (_, n) => part(n, n + 1))
  const snapshot = {
    tier: 'daily',
    commandId: 'cmd_0123456789012345678901',
    slug: 'north',
    takenAt: parts[0]?.at,
    addedBytes: 1e9,
    warm: false,
  }
  const stored = [
    ...Array.from({ length: 300 }, (_, n) => ({ ...snapshot, id: id(100_000 + n) })),
    ...parts.map((archive) => ({ ...snapshot, id: archive.snapshotId, archive })),
  ] as unknown as StoredSnapshot[]
  const care = { identify: async () => id(1), list: async () => stored } as unknown as RepositoryMaintenance
  const report = await maintainRepository({ care, repository: {} as Repository }, { forget: [], prune: false, check: 'none' })
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThan(channelLimits.resultBytes - 1024)
  const reported = new Set(report.archive?.map(({ snapshotId }) => snapshotId))
  const lastOfWindows = parts.filter((_, n) => n % 80 === 79 || n === parts.length - 1)
  expect(lastOfWindows.filter(({ snapshotId }) => !reported.has(snapshotId))).toEqual([])
})

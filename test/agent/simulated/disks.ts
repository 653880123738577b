import type { DiskSpace } from '../../../src/agent/backup/index.ts'

/** One disk with more room than anybody asks for, but for what is said otherwise. */
export const aDisk = (change: Partial<DiskSpace> = {}): DiskSpace => ({
  freeBytes: async () => 1e12,
  usedBytes: async () => 1e6,
  diskOf: async () => 'the only one',
  ...change,
})

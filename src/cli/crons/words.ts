import type { CronRun } from '../../core/crons/index.ts'
import type { Paint } from '../kit/index.ts'

export const runTint = {
  running: 'cyan',
  succeeded: 'green',
  failed: 'red',
  missed: 'yellow',
  skipped: 'yellow',
} as const satisfies Record<CronRun['status'], keyof Paint>

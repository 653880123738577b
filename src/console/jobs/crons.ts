import type { CronRunStatus } from '../../core/crons/index.ts'
import { api, type Tone } from '../kit/index.ts'

export const runTones = {
  running: 'working',
  succeeded: 'ok',
  failed: 'failed',
  missed: 'waiting',
  skipped: 'waiting',
} as const satisfies Record<CronRunStatus, Tone>

export const cronsQuery = { queryKey: ['crons', 'list'], queryFn: () => api.crons.listCrons() } as const

import { type DefinedJob, defineJob } from '../../crons/index.ts'
import type { LifeDeps } from './deps.ts'
import { confirmOldMoves, eraseOldRemovals } from './end-kept.ts'

/** What nobody asked to keep longer goes. */
export const lifeJobs = (deps: LifeDeps): DefinedJob[] => [
  defineJob({
    key: 'box-removal',
    expression: '20 4 * * *',
    description: 'Erases the data of removed boxes, and the copies that moves left, once they were kept long enough',
    run: async () => `${await eraseOldRemovals(deps)}; ${await confirmOldMoves(deps)}`,
  }),
]

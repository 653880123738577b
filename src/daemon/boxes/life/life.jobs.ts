import { type DefinedJob, defineJob } from '../../crons/index.ts'
import { confirmOldMoves, eraseOldRemovals } from './end-kept.ts'
import type { LifeNeeds } from './needs.ts'

/** What nobody asked to keep longer goes. */
export const lifeJobs = (needs: LifeNeeds): DefinedJob[] => [
  defineJob({
    key: 'box-removal',
    expression: '20 4 * * *',
    description: 'Erases the data of removed boxes, and the copies that moves left, once they were kept long enough',
    run: async () => `${await eraseOldRemovals(needs)}; ${await confirmOldMoves(needs)}`,
  }),
]

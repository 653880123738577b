import { type DefinedJob, defineJob } from '../../crons/index.ts'
import { confirmOldMoves } from './end-move.ts'
import type { LifeNeeds } from './needs.ts'
import { forgetLogs } from './read-logs.ts'
import { eraseOldRemovals } from './remove-box.ts'

/** What nobody asked to keep longer goes. */
export const lifeJobs = (needs: LifeNeeds): DefinedJob[] => [
  defineJob({
    key: 'box-removal',
    expression: '20 4 * * *',
    description: 'Erases the data of removed boxes, and the copies that moves left, once they were kept long enough',
    run: async () => {
      await forgetLogs(needs, needs.db)
      return `${await eraseOldRemovals(needs)}; ${await confirmOldMoves(needs)}`
    },
  }),
]

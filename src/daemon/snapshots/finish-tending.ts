import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { appendEvent } from '../db/index.ts'
import type { FailureHandlers, ResultHandlers } from '../hosts/index.ts'
import { boxOf } from './finish-snapshots.ts'
import { type TendTask, takeTended } from './tend-snapshots.ts'

type Deps = Readonly<{ clock: Clock }>
type Payload = BoxCommandPayload<'tenant-box.tend_snapshots'>

const taskOf = ({ check }: Payload): TendTask => (check === 'none' ? 'prune' : check === 'structure' ? 'check' : 'check-data')

/** What an agent found when it looked after a repository on its own host. */
export const tendingResults = (deps: Deps): ResultHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command, tended) => {
    const box = await boxOf(tx, command)
    if (box) await takeTended(deps, tx, { owner: box, task: taskOf(command.payload as Payload), begunAt: command.createdAt, tended })
  },
})

/** What was to be given up counts as gone until a listing shows it; the next tidying tries again. */
export const tendingFailures = ({ clock }: Deps): FailureHandlers => ({
  'tenant-box.tend_snapshots': async (tx, command) => {
    const { slug } = command.payload as Payload
    const payload = { boxId: command.boxId, slug, commandId: command.id, error: command.error }
    await appendEvent(tx, clock, { stream: 'admin', source: 'snapshots', eventType: 'snapshot.upkeep_failed', payload })
  },
})

import { obstacleTo, planUpdate, type UpdateStep, type UpdateWorld } from '../../core/boxes/index.ts'
import { boxOfBegun, boxOfCommand, needManaged, refuseMaintenance } from '../boxes/index.ts'
import { type DriveRules, drive } from '../guarded/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import type { UpdateNeeds } from './needs.ts'
import { observe } from './observe.ts'
import { type UpdateSteps, updateSteps } from './steps.ts'
import { clearUp, sumUp } from './sum-up.ts'
import { factsOf, holdsBox, startRun, type UpdatePayload, type UpdateRun } from './update-run.ts'

const kind = 'tenant-box.update'

/**
 * The guarded update. Its end is a result, whatever it is; thrown are only refusals before anything was done (LEASE_LOST, NOT_FOUND,
 * BOX_NOT_MANAGED, BOX_HELD) and an abort, after which the same command goes on when it is called again.
 */
export const update =
  (needs: UpdateNeeds, steps: UpdateSteps = updateSteps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    needs.once(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(needs, payload),
        perform: async (record) => {
          const box = await boxOfBegun(needs.boxes, payload)
          const run = startRun({ needs, context, payload, box, record })
          await drive(run, rulesOf(steps))
          const facts = factsOf(run)
          const result = await sumUp(run, facts)
          await clearUp(run, facts)
          return result
        },
      },
    )

async function admit({ boxes }: UpdateNeeds, payload: UpdatePayload): Promise<void> {
  const box = await boxOfCommand(boxes, payload)
  needManaged(box, 'updating')
  await refuseMaintenance(box)
}

const undeadlined: readonly UpdateStep[] = ['commit', 'unfence', 'restore-stop', 'restore-data', 'restore-start', 'restore-probe']

const rulesOf = (steps: UpdateSteps): DriveRules<UpdateStep, UpdateWorld, UpdateRun> => ({
  what: 'update',
  observe,
  obstacle: obstacleTo,
  plan: planUpdate,
  steps,
  first: 'prefetch',
  holdsBox,
  undeadlined,
})

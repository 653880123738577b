import { planRestore, type RestoreResult, type RestoreStep, type RestoreWorld, restoreObstacle } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { boxOfBegun, boxOfCommand, needManaged, readBoxSecrets, refuseMaintenance } from '../boxes/index.ts'
import { type DriveRules, drive } from '../guarded/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import type { RestoreNeeds } from './needs.ts'
import { observe } from './observe.ts'
import { type RestorePayload, type RestoreRun, startRun } from './restore-run.ts'
import { type RestoreSteps, restoreStepsOfBox } from './steps.ts'
import { clearUp, sumUp } from './sum-up.ts'

const kind = 'tenant-box.restore'

/**
 * The restore of a box on its own host. Its end is a result, whatever it is; thrown are only refusals before anything was done (LEASE_LOST,
 * NOT_FOUND, CONFLICT, BOX_NOT_MANAGED, BOX_HELD) and an abort, after which the same command goes on when it is called again.
 */
export const restore =
  (needs: RestoreNeeds, steps: RestoreSteps = restoreStepsOfBox): CommandExecutor<typeof kind> =>
  (context, payload) =>
    needs.once(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(needs, payload),
        perform: async (record) => {
          const box = await boxOfBegun(needs.boxes, payload)
          const run = startRun({ needs, context, payload, box, record })
          const result = await sumUp(run, await drive(run, rulesOf(steps)))
          await tellSecrets(run, result)
          await clearUp(run, result.outcome)
          return result
        },
      },
    )

async function admit({ boxes }: RestoreNeeds, payload: RestorePayload): Promise<void> {
  const box = await boxOfCommand(boxes, payload)
  needManaged(box, 'restoring')
  await refuseMaintenance(box)
}

/** The secrets of the snapshot are the box's own again: where they differ, the platform knows others. */
async function tellSecrets(run: RestoreRun, { outcome }: RestoreResult): Promise<void> {
  if (outcome !== 'restored' || !run.evidence().switch?.secrets) return
  const secrets = await readBoxSecrets(run.box.project)
  if (!secrets) return
  const { edgeSecret, appserviceToken, registrationSharedSecret } = secrets
  await run.context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret }).catch((error) => {
    if (!isProblem(error)) throw error
  })
}

const undeadlined: readonly RestoreStep[] = ['commit', 'unfence', 'back-stop', 'back-switch', 'back-start', 'back-probe']

const rulesOf = (steps: RestoreSteps): DriveRules<RestoreStep, RestoreWorld, RestoreRun> => ({
  what: 'restore',
  observe,
  obstacle: restoreObstacle,
  plan: planRestore,
  steps,
  first: 'fetch',
  holdsBox: ['fence'],
  undeadlined,
})

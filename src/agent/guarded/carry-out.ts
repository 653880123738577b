import type { BoxCommandPayload, BoxCommandResult, StepEvent, StepFacts } from '../../core/boxes/index.ts'
import { keepRoom, type Part } from '../backup/index.ts'
import { boxOfBegun, boxOfCommand, needManaged, refuseMaintenance } from '../boxes/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { type DriveRules, drive } from './drive.ts'
import { type GuardedDeps, type Run, startGuardedRun } from './guarded-run.ts'

type Kind = 'tenant-box.update' | 'tenant-box.restore'
type Driven<K extends Kind, Step extends string, Facts extends StepFacts<Step>, Evidence> = Run<Step, Facts, BoxCommandPayload<K>, Evidence>

/** All that one guarded change is; its rules are those that `drive` goes by. */
export type Change<K extends Kind, Step extends string, Facts extends StepFacts<Step>, World, Evidence> = Readonly<{
  kind: K
  /** As operators read it: `updating`. */
  doing: string
  fold(events: readonly StepEvent<Step>[]): Facts
  /** Says how it ended, and clears up after it; once more if the agent is killed before that is written down. */
  close(run: Driven<K, Step, Facts, Evidence>, facts: Facts): Promise<BoxCommandResult<K>>
  /** The room that its first step was given, once that is done. */
  room(evidence: Evidence): readonly Part[] | undefined
}> &
  DriveRules<Step, Facts, World, Driven<K, Step, Facts, Evidence>>

/**
 * Does a guarded change once. Its end is a result, whatever it is; thrown are only refusals before anything was done (LEASE_LOST, NOT_FOUND,
 * CONFLICT, BOX_NOT_MANAGED, BOX_HELD) and an abort, after which the same command goes on when it is called again.
 */
export const carryOut =
  <K extends Kind, Step extends string, Facts extends StepFacts<Step>, World extends object, Evidence>(
    deps: GuardedDeps,
    change: Change<K, Step, Facts, World, Evidence>,
  ): CommandExecutor<K> =>
  (context, payload) =>
    deps.once(
      { commandId: context.commandId, kind: change.kind, slug: payload.slug, payload },
      {
        admit: async () => {
          const box = await boxOfCommand(deps.boxes, payload)
          needManaged(box, change.doing)
          await refuseMaintenance(box)
        },
        perform: async (record) => {
          const box = await boxOfBegun(deps.boxes, payload)
          const run = startGuardedRun<Step, Facts, BoxCommandPayload<K>, Evidence>({ deps, context, payload, box, record }, change)
          const holder = { commandId: context.commandId, what: `${change.doing} ${box.slug}` }
          await keepRoom(deps.disk, holder, change.room(run.evidence()))
          return change.close(run, await drive(run, change))
        },
      },
    )

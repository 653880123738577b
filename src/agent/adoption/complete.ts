import { type BoxCommandResult, boxCommands, completionSaga, type ProbeResult } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertStackUnclaimed, boxOfCommand, boxOfStartedCommand, reportVersions } from '../boxes/index.ts'
import type { CommandJournal, CommandRecord, OnceOnly } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { type EndedCommand, resultOrThrow, runBoxSaga } from '../saga/index.ts'
import { beforeOf, completionSteps, expectedPlan } from './completion-steps.ts'
import { type Complete, type PlanDeps, planCompletion } from './plan-completion.ts'

export type CompletionDeps = PlanDeps & Readonly<{ journal: CommandJournal; once: OnceOnly }>

type Result = BoxCommandResult<typeof kind>

const kind = 'tenant-box.complete'

/** Without `expected` it returns the diff and changes nothing. With the checksum of that diff it applies exactly this diff, or rolls back. */
export const complete =
  (deps: CompletionDeps): CommandExecutor<typeof kind> =>
  async (context, input) => {
    const payload = boxCommands[kind].payload.parse(input)
    if (payload.expected === null) return look(deps, payload)
    const command = { commandId: context.commandId, kind, slug: payload.slug, payload }
    return resultOrThrow(
      await deps.once<EndedCommand<Result>>(command, {
        admit: async () => {
          await expectedPlan({ deps, payload, box: await observedBox(deps, payload) })
        },
        perform: (record) => perform(deps, context, { payload, record }),
      }),
    )
  }

const nothing = { applied: false, diff: '', diffSha256: '0'.repeat(64), findings: [], probe: null }

async function look(deps: CompletionDeps, payload: Complete): Promise<Result> {
  const box = await boxOfCommand(deps.boxes, payload)
  if (box.managed) return { ...nothing, report: await reportVersions(deps, box) }
  const { diff, diffSha256, findings } = await planCompletion(deps, box, payload)
  return { applied: false, diff, diffSha256, findings: [...findings], probe: null, report: await reportVersions(deps, box) }
}

async function observedBox({ boxes }: CompletionDeps, payload: Complete): Promise<LocalBox> {
  const box = await boxOfCommand(boxes, payload)
  if (box.managed) throw problem('ALREADY_EXISTS', `Box ${box.slug} is already managed; nothing to complete`)
  await assertStackUnclaimed(boxes, box)
  return box
}

async function perform(
  deps: CompletionDeps,
  context: CommandContext,
  { payload, record }: Readonly<{ payload: Complete; record: CommandRecord }>,
): Promise<EndedCommand<Result>> {
  const box = await boxOfStartedCommand(deps.boxes, payload)
  const steps = completionSteps({ deps, context, payload, box, begunAt: record.begunAt })
  const { outcome, facts, resultOf } = await runBoxSaga(deps, { context, record, saga: completionSaga, acts: steps, deadlineMs: null })
  if (outcome === 'committed' || outcome === 'unfinished') {
    const { diff } = beforeOf({ resultOf })
    const now = (await deps.boxes.find(payload.slug)) ?? box
    const report = await reportVersions(deps, now)
    return {
      result: {
        applied: true,
        diff,
        diffSha256: payload.expected as string,
        findings: [],
        probe: resultOf('prove') as ProbeResult,
        report,
      },
    }
  }
  const why = facts.failure ?? { code: 'INTERNAL', message: 'The completion failed' }
  if (!facts.begun.has('apply')) return { failure: { ...why, message: `${why.message}. Nothing was changed.` } }
  if (outcome === 'rolled_back')
    return {
      failure: {
        ...why,
        message: `${why.message}. Rolled back: the previous files are restored and the box runs as before; files edited in the meantime were left unchanged.`,
      },
    }
  const back = facts.endError?.message ?? 'no reason given'
  return {
    failure: {
      code: 'RESTORE_FAILED',
      message: `The rollback failed: ${back}. Cause of the rollback: ${why.message}. fix: restore the backups named by the command id in ${box.project.folder}`,
    },
  }
}

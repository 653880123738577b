import {
  type BoxCommandResult,
  boxCommands,
  completionCourse,
  endedCleanly,
  isCommitted,
  type ProbeResult,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { boxOfBegun, boxOfCommand, refuseStackOfOther, reportVersions } from '../boxes/index.ts'
import { type Ended, followCourse, refuseOrAnswer } from '../course/index.ts'
import type { CommandJournal, CommandRecord, OnceOnly } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { beforeOf, completionSteps, expectedPlan } from './completion-steps.ts'
import { type Complete, type PlanNeeds, planCompletion } from './plan-completion.ts'

export type CompletionNeeds = PlanNeeds & Readonly<{ journal: CommandJournal; once: OnceOnly }>

type Result = BoxCommandResult<typeof kind>

const kind = 'tenant-box.complete'

/** Without `expected` it shows what an observed box lacks, and changes nothing of it; with the sum of that it does exactly this, or comes all the way back. */
export const complete =
  (needs: CompletionNeeds): CommandExecutor<typeof kind> =>
  async (context, given) => {
    const payload = boxCommands[kind].payload.parse(given)
    if (payload.expected === null) return look(needs, payload)
    const command = { commandId: context.commandId, kind, slug: payload.slug, payload }
    return refuseOrAnswer(
      await needs.once<Ended<Result>>(command, {
        admit: async () => {
          await expectedPlan({ needs, payload, box: await observedBox(needs, payload) })
        },
        perform: (record) => perform(needs, context, payload, record),
      }),
    )
  }

const nothing = { applied: false, diff: '', diffSha256: '0'.repeat(64), findings: [], probe: null }

async function look(needs: CompletionNeeds, payload: Complete): Promise<Result> {
  const box = await boxOfCommand(needs.boxes, payload)
  if (box.managed) return { ...nothing, report: await reportVersions(needs, box) }
  const { diff, diffSha256, findings } = await planCompletion(needs, box, payload)
  return { applied: false, diff, diffSha256, findings: [...findings], probe: null, report: await reportVersions(needs, box) }
}

async function observedBox({ boxes }: CompletionNeeds, payload: Complete): Promise<LocalBox> {
  const box = await boxOfCommand(boxes, payload)
  if (box.managed) throw problem('ALREADY_EXISTS', `the box ${box.slug} is managed already: there is nothing to complete`)
  await refuseStackOfOther(boxes, box)
  return box
}

async function perform(needs: CompletionNeeds, context: CommandContext, payload: Complete, record: CommandRecord): Promise<Ended<Result>> {
  const box = await boxOfBegun(needs.boxes, payload)
  const steps = completionSteps({ needs, context, payload, box, begunAt: record.begunAt })
  const { facts, left } = await followCourse(needs, { context, record, course: completionCourse, steps, deadlineMs: null })
  if (isCommitted(completionCourse, facts)) {
    const { diff } = beforeOf({ left })
    const now = (await needs.boxes.find(payload.slug)) ?? box
    const report = await reportVersions(needs, now)
    return {
      result: { applied: true, diff, diffSha256: payload.expected as string, findings: [], probe: left('prove') as ProbeResult, report },
    }
  }
  const why = facts.failure ?? { code: 'INTERNAL', message: 'the completion failed' }
  if (!facts.begun.has('apply')) return { failure: { ...why, message: `${why.message}; nothing was changed` } }
  if (endedCleanly(completionCourse, facts))
    return {
      failure: {
        ...why,
        message: `${why.message}; the former files are back and the box runs as it did; a file that somebody changed meanwhile is as they left it`,
      },
    }
  const back = facts.endError?.message ?? 'no reason given'
  return {
    failure: {
      code: 'RESTORE_FAILED',
      message: `the way back failed: ${back}; the former files lie beside theirs in ${box.project.folder}, under the command's id; it was taken because: ${why.message}`,
    },
  }
}

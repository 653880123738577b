import {
  type AgentError,
  type DrilledMedia,
  type DrillResult,
  type DrillStep,
  drillSaga,
  type ProbeResult,
} from '../../core/boxes/index.ts'
import { type Reserved, restoreReservation } from '../backup/index.ts'
import { boxOfCommand, boxOfStartedCommand } from '../boxes/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import { type EndedSaga, resultIn, runBoxSaga } from '../saga/index.ts'
import { type DrillDeps, type DrillRun, startDrill } from './drill-run.ts'
import { drillActs, holderOf } from './steps.ts'

const kind = 'tenant-box.drill'

/**
 * Restores a snapshot in isolation and proves that it serves. Throws only refusals before anything was done (NOT_FOUND, LEASE_LOST,
 * CONFLICT, BOX_HELD while another drill of the box runs) and an abort, after which the same command continues.
 */
export const drill =
  (deps: DrillDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    deps.once(
      // A lock of its own: the box is only read, so its other commands need not wait.
      { commandId: context.commandId, kind, slug: `${payload.slug}.drill`, payload },
      {
        admit: async () => void (await boxOfCommand(deps.boxes, payload)),
        perform: async (record) => {
          const original = await boxOfStartedCommand(deps.boxes, payload)
          const run = startDrill(deps, { context, payload, original })
          await restoreReservation(deps.disk, holderOf(run), (resultIn(record, 'fetch') as Reserved | undefined)?.room)
          return resultFrom(
            run,
            await runBoxSaga(deps, { context, record, saga: drillSaga, acts: drillActs(run), deadlineMs: payload.deadlineMs }),
          )
        },
      },
    )

type Ended = EndedSaga<DrillStep>

function resultFrom({ payload, copy }: DrillRun, ended: Ended): DrillResult {
  const { outcome, facts, resultOf, elapsedMs } = ended
  const proven = outcome === 'committed' || outcome === 'unfinished'
  const error = facts.failure ?? (outcome === 'committed' ? null : notRemoved(copy.project.name, facts.endError))
  const loaded = resultOf('fill') as { tables: number; rows: number } | undefined
  return {
    ok: proven && error === null,
    snapshotId: payload.snapshotId,
    durationMs: elapsedMs(),
    restoreMs: proven ? restoreMs(ended) : null,
    tables: loaded?.tables ?? null,
    rows: loaded?.rows ?? null,
    media: (resultOf('media') as DrilledMedia | undefined) ?? null,
    probe: (resultOf('prove') as ProbeResult | undefined) ?? lastProbe(ended),
    error,
  }
}

const notRemoved = (project: string, error: AgentError | null): AgentError => ({
  code: error?.code ?? 'CONFLICT',
  message: `the snapshot is good, but ${project} could not be removed: ${error?.message ?? 'unknown reason'}; the agent tries again at its next start`,
})

const lastProbe = ({ entries }: Ended): ProbeResult | null =>
  (entries.findLast(({ step, mark }) => step === 'prove' && mark === 'note')?.data as { probe: ProbeResult } | undefined)?.probe ?? null

/** From the begin of the successful load to the good probe. */
function restoreMs({ entries }: Ended): number {
  const at = (step: string, mark: string) => entries.findLast((entry) => entry.step === step && entry.mark === mark)?.elapsedMs ?? 0
  return at('prove', 'done') - at('fill', 'intent')
}

import type { BoxCommandPayload, BoxCommandResult, Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Saga, SagaFacts } from '../../core/saga/index.ts'
import { type DiskUse, dumpFolderOf, repositoryOnce, restoreReservation } from '../backup/index.ts'
import { assertManaged, assertNotInMaintenance, boxOfCommand, boxOfStartedCommand } from '../boxes/index.ts'
import type { JournalEntry } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, LocalBox } from '../ports/index.ts'
import { openSagaLog, runSaga, type SagaLog } from '../saga/index.ts'
import { presentCompose } from './compose-exchange.ts'
import { fenceOf } from './fence.ts'
import type { ChangeDeps, ChangeRun } from './run.types.ts'
import { isAlive } from './services.ts'

/** One update or restore in the hands of one agent. All that must outlive the agent is in its journal. */
export type Run<Step extends string, Payload, Evidence> = ChangeRun &
  Readonly<{
    payload: Payload
    facts(): SagaFacts<Step>
    /** The latest result of each step. */
    evidence(): Evidence
  }>

type Kind = 'tenant-box.update' | 'tenant-box.restore'
type RunOf<K extends Kind, Step extends string, Evidence> = Run<Step, BoxCommandPayload<K>, Evidence>

/** An update or a restore: its saga, its acts, and how it ends. */
export type Change<K extends Kind, Step extends string, World, Evidence> = Readonly<{
  kind: K
  /** As operators read it: `updating`. */
  doing: string
  sagaOf(payload: BoxCommandPayload<K>): Saga<Step, World>
  observe(run: RunOf<K, Step, Evidence>): Promise<World>
  /** Each may be called again after a kill at any point; the journal stores what it returns. */
  steps: Readonly<Record<Step, (run: RunOf<K, Step, Evidence>) => Promise<unknown>>>
  /** A step failed. Its failure is stored whatever happens here. */
  failed?(run: RunOf<K, Step, Evidence>): Promise<void>
  /** Builds the result and removes what is left over; called again if the agent is killed before the result is stored. */
  close(run: RunOf<K, Step, Evidence>, facts: SagaFacts<Step>): Promise<BoxCommandResult<K>>
  /** The disk space that the first step reserved, once it is done. */
  room(evidence: Evidence): readonly DiskUse[] | undefined
}>

/**
 * Runs a change once. Its end is a result, whatever it is. Throws only refusals before anything was done (LEASE_LOST, NOT_FOUND, CONFLICT,
 * BOX_NOT_MANAGED, BOX_HELD) and an abort, after which the same command continues when it is sent again.
 */
export const runChange =
  <K extends Kind, Step extends string, World, Evidence>(deps: ChangeDeps, change: Change<K, Step, World, Evidence>): CommandExecutor<K> =>
  (context, payload) =>
    deps.once(
      { commandId: context.commandId, kind: change.kind, slug: payload.slug, payload },
      {
        admit: async () => {
          const box = await boxOfCommand(deps.boxes, payload)
          assertManaged(box)
          await assertNotInMaintenance(box)
        },
        perform: async (record) => {
          const box = await boxOfStartedCommand(deps.boxes, payload)
          const saga = change.sagaOf(payload)
          const log = openSagaLog(deps, { context, record, saga })
          const run = startRun<Step, BoxCommandPayload<K>, Evidence>({ deps, context, payload, box, log })
          await restoreReservation(
            deps.disk,
            { commandId: context.commandId, what: `${change.doing} ${box.slug}` },
            change.room(run.evidence()),
          )
          const acts = actsOf(change.steps, run, change.failed)
          const { deadlineMs } = payload
          const endTimeoutMs = deps.rollbackStepTimeoutMs ?? defaultRollbackStepMs
          const close = () => change.close(run, run.facts())
          try {
            await runSaga(deps, { saga, log, context, acts, observe: () => change.observe(run), deadlineMs, endTimeoutMs })
          } catch (error) {
            // Its record was removed, so no other run removes what it fetched.
            if (!(await deps.journal.find(context.commandId))) await close().catch(() => undefined)
            throw error
          }
          return close()
        },
      },
    )

const defaultRollbackStepMs = 6 * 3_600_000

/** So that an engine that hangs does not keep users out for longer. */
const failedWaitMs = 5_000

/** The failure of a step is stored first; the next step begins when `failed` is done with it. */
function actsOf<Step extends string, R extends ChangeRun>(
  steps: Readonly<Record<Step, (run: R) => Promise<unknown>>>,
  run: R,
  failed: (run: R) => Promise<void> = async () => undefined,
) {
  let handled: Promise<unknown> = Promise.resolve()
  const handle = () => Promise.race([failed(run), run.deps.clock.sleep(failedWaitMs, run.signal)]).catch(() => undefined)
  return Object.fromEntries(
    Object.entries<(run: R) => Promise<unknown>>(steps).map(([step, act]) => [
      step,
      async ({ signal }: { signal: AbortSignal }) => {
        await handled
        return act({ ...run, signal }).catch((error) => {
          if (!run.signal.aborted) handled = handle()
          throw error
        })
      },
    ]),
  ) as Record<Step, (at: { signal: AbortSignal }) => Promise<unknown>>
}

type Start<Step extends string, Payload> = Readonly<{
  deps: ChangeDeps
  context: CommandContext
  payload: Payload
  box: LocalBox
  log: SagaLog<Step>
}>

function startRun<Step extends string, Payload extends ChangeRun['payload'], Evidence>({
  log,
  ...start
}: Start<Step, Payload>): Run<Step, Payload, Evidence> {
  const { deps, context } = start
  const dumpFolder = dumpFolderOf(deps.workFolder, context.commandId)
  return {
    ...start,
    signal: context.signal,
    elapsedMs: log.elapsedMs,
    entries: log.entries,
    facts: log.facts,
    evidence: () => evidenceOf(log.entries()) as Evidence,
    note: (step, data) => log.write(step, 'note', data),
    repository: repositoryOnce(context),
    dumpFolder,
    fetchFolder: `${dumpFolder}.restored`,
  }
}

const evidenceOf = (entries: readonly JournalEntry[]): Record<string, unknown> =>
  Object.fromEntries(entries.filter(({ mark, data }) => mark === 'done' && data !== undefined).map(({ step, data }) => [step, data]))

/** Returns the latest result of a step. Throws INTERNAL when there is none. */
export function resultOf<Evidence, Step extends keyof Evidence & string>(
  { evidence, context }: Readonly<{ evidence(): Evidence; context: CommandContext }>,
  step: Step,
): NonNullable<Evidence[Step]> {
  const result = evidence()[step]
  if (result === undefined || result === null)
    throw problem('INTERNAL', `the command ${context.commandId} has no record of its step ${step}`)
  return result
}

/** Observes the box for any saga: the fence, the running services and the present compose file. */
export async function observeBox({ box, context, deps }: ChangeRun) {
  const [fence, containers, text] = await Promise.all([
    fenceOf(box, context.commandId),
    deps.engine.containers(box.project),
    presentCompose(box),
  ])
  const runs = (service: Service) => containers.some((container) => container.service === service && isAlive(container))
  const serving = runs('synapse')
  const quiet = !serving && !runs('minio')
  return { world: { fence, quiet, stopped: quiet && !runs('postgres') }, serving, text }
}

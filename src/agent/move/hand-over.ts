import {
  type AgentError,
  type BoxCommandResult,
  type HandOverStep,
  type HandOverWorld,
  handOverSaga,
  type SnapshotTaken,
} from '../../core/boxes/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { clearDump, reportWaiting, repositoryOnce, restoreReservation, takeBoxSnapshot } from '../backup/index.ts'
import {
  assertManaged,
  boxOfCommand,
  boxOfStartedCommand,
  readFence,
  removeFenceFile,
  waitForService,
  waitUntilStable,
} from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { CommandExecutor } from '../ports/index.ts'
import {
  type EndedCommand,
  type EndedSaga,
  resultIn,
  resultOrThrow,
  runBoxSaga,
  type SagaActs,
  type SagaLog,
  type StepContext,
  withRemark,
} from '../saga/index.ts'
import { closeBox, type MoveDeps, stopServices } from './fence-and-stop.ts'
import { type HandOverRun, holderOf, needsLastSnapshot, prepareHandOver, prepareRemoval, type Ready } from './hand-over-ready.ts'

const kind = 'tenant-box.hand_over'
type Ended = EndedCommand<BoxCommandResult<typeof kind>>
type Run = HandOverRun

/**
 * Fences and stops the box and takes its last snapshot; after that this host does not own it any more. An earlier failure rolls back to a
 * serving box and is thrown; the same command ends the same way again.
 */
export const handOver =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const ended = await deps.once<Ended>(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: async () => assertManaged(await boxOfCommand(deps.boxes, payload)),
        perform: async (record) => {
          const box = await boxOfStartedCommand(deps.boxes, payload)
          const run = { deps, context, payload, box, repository: repositoryOnce(context) }
          await restoreReservation(deps.disk, holderOf(run), (resultIn(record, 'ready') as Ready | undefined)?.room)
          const observe = (log: SagaLog<HandOverStep>) => observeWriters(run, log)
          const { deadlineMs } = payload
          return resultFrom(run, await runBoxSaga(deps, { context, record, saga: handOverSaga, acts: actsOf(run), deadlineMs, observe }))
        },
      },
    )
    return resultOrThrow(ended)
  }

/** A rollback needs no observation, and a passed deadline does not wait for an engine that does not answer. */
async function observeWriters({ deps, context, payload, box }: Run, log: SagaLog<HandOverStep>): Promise<HandOverWorld> {
  const { failure, done } = log.facts()
  if (failure || done.size === 0 || log.elapsedMs() > payload.deadlineMs) return { fenced: true, quiet: true }
  const [fence, containers] = await Promise.all([readFence(box.project), deps.engine.containers(box.project)])
  const quiet = !containers.some((one) => (one.service === 'synapse' || one.service === 'minio') && isAlive(one))
  return { fenced: payload.removal ? fence !== undefined : fence?.holder === context.commandId, quiet }
}

const actsOf = (run: Run): SagaActs<HandOverStep> => {
  const { deps, context, payload, box } = run
  return {
    ready: () => (payload.removal ? prepareRemoval(run) : prepareHandOver(run)),
    fence: async () => {
      // A box that a failed command left fenced is removed behind that fence.
      if (!payload.removal || !(await readFence(box.project))) await closeBox(deps, box, context.commandId)
      return { at: isoNow(deps.clock) }
    },
    stop: async (at) => {
      // Requested before anything stops: a restarted agent has lost the password, and the daemon may be away.
      if ((at.resultOf('ready') as Ready).noSnapshot === undefined) await run.repository()
      await stopServices(deps, box, ['synapse', 'minio'])
      await clearDump(deps, context.commandId)
    },
    snapshot: (at) => snapshot(run, at),
    keep: () => deps.boxes.put({ ...box, handedOver: { at: isoNow(deps.clock), holder: context.commandId } }),
    settle: async () => {
      await stopServices(deps, box, ['synapse', 'minio', 'postgres'])
      await clearDump(deps, context.commandId)
      await deps.engine.unpin(box.slug)
    },
    restart: ({ signal }) => restart(run, signal),
    open: async () => {
      await clearDump(deps, context.commandId)
      if ((await readFence(box.project))?.holder === context.commandId) await removeFenceFile(box.project)
    },
  }
}

type LastSnapshot = SnapshotTaken | Readonly<{ noSnapshot: string }>

async function snapshot({ deps, context, box, repository }: Run, { signal, resultOf }: StepContext<HandOverStep>): Promise<LastSnapshot> {
  const { images, installed, isBroken, noSnapshot } = resultOf('ready') as Ready
  if (noSnapshot !== undefined) return { noSnapshot }
  const { commandId } = context
  const onWaiting = reportWaiting(context, 'snapshot')
  const take = async () => {
    const request = { box, repository: await repository(), tier: 'final', commandId, images, installed, signal, onWaiting } as const
    return (await takeBoxSnapshot(deps, request)).taken
  }
  return take().catch((error: Error) => {
    signal.throwIfAborted()
    if (needsLastSnapshot(isBroken, error)) throw error
    return { noSnapshot: error.message }
  })
}

/** A box that a failed hand-over had stopped is opened after one good probe. */
const restartRule = { consecutive: 1, spacingMs: 5_000, timeoutMs: 10 * 60_000 }

async function restart({ deps, context, box }: Run, signal: AbortSignal): Promise<void> {
  const { engine, servers, boxes } = deps
  // `keep` may have written the record before it was killed or failed.
  const { handedOver, ...owned } = (await boxes.find(box.slug)) ?? box
  if (handedOver?.holder === context.commandId) await boxes.put(owned)
  await engine.start(box.project, ['postgres'])
  await waitForService({ ...deps, signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
  await engine.start(box.project, ['minio'])
  await engine.start(box.project, ['synapse', 'edge'])
  await waitUntilStable(deps, box, { rule: restartRule, signal })
}

function resultFrom({ box }: Run, { outcome, facts, entries, resultOf, elapsedMs }: EndedSaga<HandOverStep>): Ended {
  if (outcome === 'committed' || outcome === 'unfinished') {
    const fencedAt = (resultOf('fence') as { at: string } | undefined)?.at ?? entries[0]?.at ?? ''
    const last = resultOf('snapshot') as LastSnapshot
    const taken = 'noSnapshot' in last ? { snapshot: null, noSnapshot: last.noSnapshot } : { snapshot: last }
    return { result: { ...taken, fencedAt, durationMs: elapsedMs() } }
  }
  const { code, message }: AgentError = facts.failure ?? { code: 'INTERNAL', message: 'the hand-over failed without a reason' }
  if (outcome === 'rolled_back') return { failure: { code, message: withRemark(message, `${box.slug} serves as before`) } }
  const reason = facts.endError?.message ?? 'unknown reason'
  return { failure: { code, message: withRemark(message, `${box.slug} could not be restarted and stays fenced on this host: ${reason}`) } }
}

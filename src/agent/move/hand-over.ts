import {
  type AgentError,
  type BoxCommandPayload,
  type BoxCommandResult,
  type HandOverStep,
  type HandOverWorld,
  handOverSaga,
  type InstalledVersions,
  Service,
  type SnapshotTaken,
} from '../../core/boxes/index.ts'
import { isoNow, plural, problem } from '../../core/kit/index.ts'
import {
  clearDump,
  type Holder,
  keepRoom,
  needRoom,
  type Roomed,
  repositoryOnce,
  roomForDump,
  takeBoxSnapshot,
  volumeBytes,
} from '../backup/index.ts'
import {
  boxOfBegun,
  boxOfCommand,
  needManaged,
  needSafeFolder,
  readCompose,
  readFence,
  refuseOtherDatabases,
  reportVersions,
  takeSwitchAway,
  waitForService,
  waitUntilStable,
} from '../boxes/index.ts'
import { isAlive, readComposeText } from '../change/index.ts'
import type { CommandContext, CommandExecutor, LocalBox, Repository } from '../ports/index.ts'
import { type EndedSaga, resultIn, resultOrThrow, runBoxSaga, type SagaActs, type SagaLog, type StepContext } from '../saga/index.ts'
import type { MoveDeps } from './deps.ts'
import { bringToRest, closeBox } from './rest.ts'

const kind = 'tenant-box.hand_over'
type Payload = BoxCommandPayload<typeof kind>
type Result = BoxCommandResult<typeof kind>
type Ended = { result: Result } | { failure: AgentError }
type Run = Readonly<{ deps: MoveDeps; context: CommandContext; payload: Payload; box: LocalBox; repository(): Promise<Repository> }>

/** A box that a failed hand-over had stopped is opened again after one good probe. */
const openAgainRule = { consecutive: 1, spacingMs: 5_000, timeoutMs: 10 * 60_000 }

/**
 * The box is fenced, stopped and kept as a last snapshot; from then on this host answers for it no more. A failure before that leads back to
 * a box that serves, and is thrown; the same command gets the same end again.
 */
export const handOver =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  async (context, payload) => {
    const ended = await deps.once<Ended>(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(deps, payload),
        perform: async (record) => {
          const box = await boxOfBegun(deps.boxes, payload)
          const run = { deps, context, payload, box, repository: repositoryOnce(context) }
          await keepRoom(deps.disk, holderOf(run), (resultIn(record, 'ready') as Readied | undefined)?.room)
          const acts = stepsOf(run)
          const observe = (log: SagaLog<HandOverStep>) => observeWriters(run, log)
          return sumUp(run, await runBoxSaga(deps, { context, record, saga: handOverSaga, acts, deadlineMs: payload.deadlineMs, observe }))
        },
      },
    )
    return resultOrThrow(ended)
  }

async function admit({ boxes }: MoveDeps, payload: Payload): Promise<void> {
  const box = await boxOfCommand(boxes, payload)
  needManaged(box, 'moving')
}

/** A rollback needs no observation; nor does a command whose deadline passes while the engine does not answer. */
async function observeWriters({ deps, context, payload, box }: Run, log: SagaLog<HandOverStep>): Promise<HandOverWorld> {
  const { failure, done } = log.facts()
  if (failure || done.size === 0 || log.elapsedMs() > payload.deadlineMs) return { fenced: true, quiet: true }
  const [fence, containers] = await Promise.all([readFence(box.project), deps.engine.containers(box.project)])
  const quiet = !containers.some((one) => (one.service === 'synapse' || one.service === 'minio') && isAlive(one))
  return { fenced: fence?.holder === context.commandId, quiet }
}

type Readied = Roomed & Readonly<{ images: Record<string, { image: string; digest: string | null }>; installed: InstalledVersions }>

const holderOf = ({ context, box }: Pick<Run, 'context' | 'box'>): Holder => ({
  commandId: context.commandId,
  what: `the last dump of ${box.slug}`,
})

const stepsOf = (run: Run): SagaActs<HandOverStep> => {
  const { deps, context, box } = run
  return {
    ready: () => getReady(run),
    fence: async () => {
      await closeBox(deps, box, context.commandId)
      return { at: isoNow(deps.clock) }
    },
    stop: async () => {
      // Asked for while nothing has stopped yet: an agent that was restarted has lost it, and the daemon may be away.
      await run.repository()
      await bringToRest(deps, box, ['synapse', 'minio'])
      await clearDump(deps, context.commandId)
    },
    snapshot: (at) => snapshot(run, at),
    keep: () => deps.boxes.put({ ...box, handedOver: { at: isoNow(deps.clock), holder: context.commandId } }),
    settle: async () => {
      await bringToRest(deps, box, ['synapse', 'minio', 'postgres'])
      await clearDump(deps, context.commandId)
      await deps.engine.unpin(box.slug)
    },
    restart: ({ signal }) => serveAgain(run, signal),
    open: async () => {
      await clearDump(deps, context.commandId)
      if ((await readFence(box.project))?.holder === context.commandId) await takeSwitchAway(box.project)
    },
  }
}

async function getReady(run: Run): Promise<Readied> {
  const { deps, box, repository } = run
  await needSafeFolder(box.project)
  await refuseOtherServices(box)
  const containers = await deps.engine.containers(box.project)
  const still = Service.options.find((service) => containers.find((one) => one.service === service)?.state !== 'running')
  if (still) throw problem('BOX_UNHEALTHY', `${still} of ${box.slug} does not run; repair the box before moving it`)
  await refuseOtherDatabases(deps, box)
  const keptIn = await repository()
  await deps.snapshots.prepare(keptIn)
  const bytes = await volumeBytes(deps, containers.find(({ service }) => service === 'postgres')?.volumes ?? [])
  const room = roomForDump(deps.workFolder, keptIn, bytes)
  await needRoom(deps.disk, holderOf(run), room)
  const { installed } = await reportVersions(deps, box)
  return { room, installed, images: Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }])) }
}

/** A snapshot holds nothing of theirs, and the next host would not start them. */
async function refuseOtherServices(box: LocalBox): Promise<void> {
  const { otherServices } = readCompose(await readComposeText(box), box.project.name)
  if (otherServices.length === 0) return
  throw problem(
    'PREFLIGHT_REFUSED',
    `the compose file of ${box.slug} has ${plural(otherServices.length, 'service')} that no box has (${otherServices.slice(0, 20).join(', ')}), which no snapshot holds: move them to a project of their own first`,
  )
}

async function snapshot({ deps, context, box, repository }: Run, { signal, resultOf }: StepContext<HandOverStep>): Promise<SnapshotTaken> {
  const { images, installed } = resultOf('ready') as Readied
  const request = { box, repository: await repository(), tier: 'final', commandId: context.commandId, images, installed, signal } as const
  return (await takeBoxSnapshot(deps, request)).taken
}

async function serveAgain({ deps, context, box }: Run, signal: AbortSignal): Promise<void> {
  const { engine, servers, boxes } = deps
  // `keep` may have written it before it was killed, or failed over a disk that then said no: what serves again is this host's.
  const { handedOver, ...owned } = (await boxes.find(box.slug)) ?? box
  if (handedOver?.holder === context.commandId) await boxes.put(owned)
  await engine.start(box.project, ['postgres'])
  await waitForService(deps, { signal }, box, 'postgres', () => servers.databaseReady(box))
  await engine.start(box.project, ['minio'])
  await engine.start(box.project, ['synapse', 'edge'])
  await waitUntilStable(deps, box, { rule: openAgainRule, signal })
}

function sumUp({ box }: Run, { outcome, facts, entries, resultOf, elapsedMs }: EndedSaga<HandOverStep>): Ended {
  if (outcome === 'committed' || outcome === 'unfinished') {
    const fencedAt = (resultOf('fence') as { at: string } | undefined)?.at ?? entries[0]?.at ?? ''
    return { result: { snapshot: resultOf('snapshot') as SnapshotTaken, fencedAt, durationMs: elapsedMs() } }
  }
  const { code, message } = facts.failure ?? { code: 'INTERNAL', message: 'it ended without a reason' }
  if (outcome === 'rolled_back') return { failure: { code, message: `${message}; ${box.slug} serves as before` } }
  const why = facts.endError?.message ?? 'no reason was given'
  return { failure: { code, message: `${message}; ${box.slug} could not be brought back and rests fenced on this host: ${why}` } }
}

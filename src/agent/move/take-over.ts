import { readdir } from 'node:fs/promises'
import { type AgentError, type BoxCommandResult, type ProbeResult, type TakeOverStep, takeOverSaga } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { dumpFolderOf, fetchRepository, type Reserved, restoreReservation } from '../backup/index.ts'
import { assertPlaceFree, existingBox, plainUrl, projectOf, reportVersions } from '../boxes/index.ts'
import type { CommandContext, CommandExecutor, LocalBox, Repository } from '../ports/index.ts'
import { type EndedSaga, resultIn, runBoxSaga } from '../saga/index.ts'
import type { MoveDeps } from './fence-and-stop.ts'
import { incomingHolder, kind, type Payload, type TakeOverRun } from './take-over-run.ts'
import { takeOverActs } from './take-over-steps.ts'

type Result = BoxCommandResult<typeof kind>

/**
 * Rebuilds a box of another host on this one from its snapshot. `failed` leaves nothing behind. Throws only refusals before anything was
 * done (LEASE_LOST, ALREADY_EXISTS, PORT_TAKEN, VALIDATION) and an abort.
 */
export const takeOver =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    deps.once(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(deps, payload),
        perform: async (record) => {
          const run = startRun(deps, context, payload)
          await restoreReservation(deps.disk, incomingHolder(run), (resultIn(record, 'fetch') as Reserved | undefined)?.room)
          const acts = takeOverActs(run)
          return resultFrom(run, await runBoxSaga(deps, { context, record, saga: takeOverSaga, acts, deadlineMs: payload.deadlineMs }))
        },
      },
    )

async function admit(deps: MoveDeps, payload: Payload): Promise<void> {
  const { boxes, engine, settings } = deps
  const { slug } = payload
  plainUrl(payload.publicUrl)
  if (await existingBox(boxes, payload))
    throw problem('ALREADY_EXISTS', `this host still has ${slug} from before. fix: remove it here first, or take it back`)
  const project = projectOf(settings, slug)
  if ((await readdir(project.folder).catch(() => [])).length > 0)
    throw problem('ALREADY_EXISTS', `${project.folder} is not empty. fix: move it away first`)
  if ((await engine.projects(project.name)).includes(project.name))
    throw problem(
      'ALREADY_EXISTS',
      `containers, networks or volumes of a project ${project.name} exist on this host. fix: remove them first`,
    )
  await assertPlaceFree(deps, payload, project)
}

/** As it is recorded once it is proven, except what only the snapshot has. */
export function boxToBe({ settings }: Pick<MoveDeps, 'settings'>, payload: Payload): LocalBox {
  const { slug, boxId, ownershipEpoch, chatDomain, ports } = payload
  return { slug, boxId, ownershipEpoch, managed: true, chatDomain, project: projectOf(settings, slug), ports, migrationsHead: '0000' }
}

function startRun(deps: MoveDeps, context: CommandContext, payload: Payload): TakeOverRun {
  let repository: Repository | undefined
  const ask = async () => {
    repository = await fetchRepository(context)
    return repository
  }
  return {
    deps,
    context,
    payload,
    box: boxToBe(deps, payload),
    folder: dumpFolderOf(deps.workFolder, context.commandId),
    repository: async () => repository ?? ask(),
    confirm: async (when, signal) => {
      if (when === 'again' || !repository) await retryUntilAnswered({ deps, context }, ask, signal)
    },
  }
}

async function resultFrom(
  { deps, payload, box }: TakeOverRun,
  { outcome, facts, entries, elapsedMs }: EndedSaga<TakeOverStep>,
): Promise<Result> {
  const taken = outcome === 'committed' || outcome === 'unfinished'
  const clean = outcome === 'committed' || outcome === 'rolled_back'
  const stored = taken ? await deps.boxes.find(payload.slug) : undefined
  return {
    // A committed take-over must not report a failure: the old host would take the box back, and two hosts would serve it.
    outcome: taken ? 'restored' : clean ? 'failed' : 'restore_failed',
    snapshotId: payload.snapshotId,
    durationMs: elapsedMs(),
    probes: entries.flatMap(({ step, mark, data }) =>
      step === 'probe' && mark === 'note' ? [(data as { probe: ProbeResult }).probe] : [],
    ),
    report: stored ? await reportVersions(deps, stored).catch(() => null) : null,
    error: clean || facts.done.has('open') ? facts.failure : endErrorOf(box, facts.failure, facts.endError),
  }
}

function endErrorOf({ slug, project }: LocalBox, failure: AgentError | null, error: AgentError | null): AgentError {
  const reason = error?.message ?? 'unknown reason'
  if (!failure)
    return {
      code: error?.code ?? 'INTERNAL',
      message: `${slug} was taken over and is healthy, but stays fenced: ${reason}. fix: \`tenantry-agent box unfence ${slug}\` on its host`,
    }
  return { code: failure.code, message: `${failure.message}; not all of ${project.name} could be removed: ${reason}` }
}

type Asking = Readonly<{ deps: Pick<MoveDeps, 'clock'>; context: Pick<CommandContext, 'progress'> }>

const retryMs = 5_000

/**
 * Asks the daemon until it answers or the signal aborts: only the daemon knows which host owns the box, and both are fenced meanwhile.
 * Throws an answer that is an error, such as LEASE_LOST.
 */
async function retryUntilAnswered({ deps, context }: Asking, ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!isTemporary(error)) throw error
      context.progress({
        step: 'waiting',
        detail: `the daemon does not say whether the box is still assigned to this host: ${(error as Error).message}`.slice(0, 300),
      })
      await deps.clock.sleep(retryMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** A daemon answers CONFLICT to an agent that has just started until it has its hello. */
const isTemporary = (error: unknown): boolean => isProblem(error) && (error.retryable || error.code === 'CONFLICT')

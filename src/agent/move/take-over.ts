import { readdir } from 'node:fs/promises'
import {
  type AgentError,
  type BoxCommandPayload,
  type BoxCommandResult,
  type ProbeResult,
  type TakeOverStep,
  takeOverSaga,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { dumpFolderOf, fetchRepository, keepRoom, type Roomed } from '../backup/index.ts'
import { knownOf, plainUrl, projectOf, refuseTaken, reportVersions } from '../boxes/index.ts'
import type { CommandContext, CommandExecutor, LocalBox, Repository } from '../ports/index.ts'
import { type EndedSaga, resultIn, runBoxSaga } from '../saga/index.ts'
import type { MoveDeps } from './deps.ts'
import { incomingHolder } from './need-room-for.ts'
import { takeOverSteps } from './take-over-steps.ts'
import { untilAnswered } from './until-answered.ts'

const kind = 'tenant-box.take_over'
type Payload = BoxCommandPayload<typeof kind>
type Result = BoxCommandResult<typeof kind>

/** One box on its way into this host. */
export type TakeOverRun = Readonly<{
  deps: MoveDeps
  context: CommandContext
  payload: Payload
  /** As it is to be recorded once it is proven, but for its migrations head, which the snapshot knows. */
  box: LocalBox
  folder: string
  repository(): Promise<Repository>
  /** Returns once the daemon has said, in this life of the agent, that the box is still to come here. Throws LEASE_LOST when it is not. */
  confirm(when: 'once' | 'anew', signal: AbortSignal): Promise<void>
}>

/**
 * Makes a box of another host on this one from its snapshot. `failed` leaves nothing behind: until it is proven nobody could reach it. Thrown
 * are only refusals before anything was done (LEASE_LOST, ALREADY_EXISTS, PORT_TAKEN, VALIDATION) and an abort.
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
          await keepRoom(deps.disk, incomingHolder(run), (resultIn(record, 'fetch') as Roomed | undefined)?.room)
          const acts = takeOverSteps(run)
          return sumUp(run, await runBoxSaga(deps, { context, record, saga: takeOverSaga, acts, deadlineMs: payload.deadlineMs }))
        },
      },
    )

async function admit(deps: MoveDeps, payload: Payload): Promise<void> {
  const { boxes, engine, settings } = deps
  const { slug } = payload
  plainUrl(payload.publicUrl)
  if (await knownOf(boxes, payload))
    throw problem('ALREADY_EXISTS', `this host still has ${slug} from before: remove it here first, or take it back`)
  const project = projectOf(settings, slug)
  if ((await readdir(project.folder).catch(() => [])).length > 0)
    throw problem('ALREADY_EXISTS', `${project.folder} is not empty: move it away first`)
  if ((await engine.projects(project.name)).includes(project.name))
    throw problem(
      'ALREADY_EXISTS',
      `containers, networks or volumes of a project ${project.name} are on this host already: remove them first`,
    )
  await refuseTaken(deps, payload, project)
}

/** As it is to be recorded once it is proven, but for what only the snapshot knows. */
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
      if (when === 'anew' || !repository) await untilAnswered({ deps, context }, ask, signal)
    },
  }
}

async function sumUp(
  { deps, payload, box }: TakeOverRun,
  { outcome, facts, entries, elapsedMs }: EndedSaga<TakeOverStep>,
): Promise<Result> {
  const taken = outcome === 'committed' || outcome === 'unfinished'
  const clean = outcome === 'committed' || outcome === 'rolled_back'
  const kept = taken ? await deps.boxes.find(payload.slug) : undefined
  return {
    // Once it is this host's it never says otherwise: its old host would take it back, and two would serve one box.
    outcome: taken ? 'restored' : clean ? 'failed' : 'restore_failed',
    snapshotId: payload.snapshotId,
    durationMs: elapsedMs(),
    probes: entries.flatMap(({ step, mark, data }) =>
      step === 'probe' && mark === 'note' ? [(data as { probe: ProbeResult }).probe] : [],
    ),
    report: kept ? await reportVersions(deps, kept).catch(() => null) : null,
    error: clean || facts.done.has('open') ? facts.failure : remains(box, facts.failure, facts.endError),
  }
}

function remains({ slug, project }: LocalBox, failure: AgentError | null, why: AgentError | null): AgentError {
  const reason = why?.message ?? 'no reason was given'
  if (!failure)
    return {
      code: why?.code ?? 'INTERNAL',
      message: `${slug} was taken over and proven, but rests fenced: ${reason}; \`tenantry-agent box unfence ${slug}\` on its host opens it`,
    }
  return { code: failure.code, message: `${failure.message}; not all of ${project.name} could be cleared away: ${reason}` }
}

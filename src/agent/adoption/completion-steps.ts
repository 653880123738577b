import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CompletionStep, type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type Clock, problem, secret } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import {
  differencesOf,
  probeFile,
  pullImages,
  readBoxSecrets,
  readCompose,
  waitForService,
  waitUntilStable,
  writeProbeAccount,
} from '../boxes/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox, RowCounts } from '../ports/index.ts'
import type { SagaActs, StepContext } from '../saga/index.ts'
import { applyFiles, type BackedUpFile, backUpFiles, makeFenceFolder, restoreFiles } from './kept-files.ts'
import { type Complete, type FileChange, type Plan, type PlanDeps, planCompletion } from './plan-completion.ts'
import { assertSameRows, assertSameVolumes, countQuietRows, type DataPlace, mountsNow } from './same-data.ts'
import { pendingFile } from './secrets.ts'

/** State of the box before the change, stored in the journal; sufficient for a rollback without the plan. */
type Before = Readonly<{
  files: readonly BackedUpFile[]
  hadEdge: boolean
  hadProbe: boolean
  reread: readonly Service[]
  diff: string
  /** Previous record. */
  recorded: Pick<LocalBox, 'chatDomain' | 'ports'>
  place: DataPlace
}>

type Completion = Readonly<{
  deps: PlanDeps
  context: CommandContext
  payload: Complete
  /** The record of the observed box. */
  box: LocalBox
  begunAt: string
}>

export const completionSteps = (run: Completion): SagaActs<CompletionStep> => ({
  images: ({ signal }) => bringEdge(run, signal),
  keep: () => keep(run),
  apply: async () => {
    await applyFiles(await plannedChanges(run))
    await makeFenceFolder(run.box.project.folder)
  },
  count: async (at) => {
    const { place } = beforeOf(at)
    return countQuietRows(run, place, at.signal)
  },
  start: async (at) => {
    const { reread, place } = beforeOf(at)
    const rows = at.resultOf('count') as RowCounts | null | undefined
    const onceDatabaseRuns = async () => {
      if (rows) await assertSameRows(run, { place, rows }, at.signal)
    }
    await bringUp(run.deps, completed(run), { reread, signal: at.signal, onceDatabaseRuns })
    await assertSameVolumes(run, place.mounts)
  },
  account: async ({ signal }) => {
    const { appserviceToken } = await currentSecrets(run)
    await writeProbeAccount(run.box.project, await run.deps.servers.createProbeAccount(completed(run), secret(appserviceToken), signal))
  },
  prove: ({ signal }) => prove(run, signal),
  deliver: async () => {
    const { edgeSecret, appserviceToken, registrationSharedSecret } = await currentSecrets(run)
    await run.context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret })
  },
  manage: () => run.deps.boxes.put({ ...completed(run), managed: true }),
  tidy: async () => {
    await rm(planFile(run), { force: true })
    await rm(pendingFile(run.deps.stateFolder, run.box.slug), { force: true })
  },
  'put-back': async (at) => {
    const { files, hadProbe } = beforeOf(at)
    await restoreFiles(files)
    if (!hadProbe) await rm(probeFile(run.box.project), { force: true })
    // `manage` may have stored the record before it failed; a box with its previous files is only observed.
    if ((await run.deps.boxes.find(run.box.slug))?.managed) await run.deps.boxes.put({ ...run.box, ...observed(at), managed: false })
  },
  'start-again': async (at) => {
    const { hadEdge, reread } = beforeOf(at)
    if (!hadEdge) await run.deps.engine.discard(run.box.project, ['edge'])
    await bringUp(run.deps, run.box, { reread, signal: at.signal })
  },
  forget: () => rm(planFile(run), { force: true }),
})

const completed = ({ box, payload }: Completion): LocalBox => ({ ...box, chatDomain: payload.chatDomain, ports: payload.ports })

export function beforeOf(at: Pick<StepContext<CompletionStep>, 'resultOf'>): Before {
  const before = at.resultOf('keep') as Before | undefined
  if (!before) throw problem('INTERNAL', 'The journal does not contain the previous state of the box')
  return before
}

const observed = (at: Pick<StepContext<CompletionStep>, 'resultOf'>): Partial<LocalBox> => beforeOf(at).recorded

async function bringEdge({ deps, payload, context }: Completion, signal: AbortSignal): Promise<void> {
  const edge = { image: payload.edgeImage, digest: payload.edgeDigest }
  const { allowedImages } = deps.settings
  await pullImages({ ...deps, allowedImages }, { images: { edge }, step: 'images', context, signal })
}

/** The planned files, including secrets: mode 0600 in the agent's folder, deleted when the command ends. */
const planFile = ({ deps, context }: Completion): string =>
  join(deps.stateFolder, 'adoption', `${encodeURIComponent(context.commandId)}.plan.json`)

async function keep(run: Completion): Promise<Before> {
  const { box, begunAt, context } = run
  const plan = await expectedPlan(run)
  await writeFileAtomic(planFile(run), JSON.stringify(plan.changes))
  const suffix = `${begunAt.replaceAll(':', '-')}.${encodeURIComponent(context.commandId)}`
  const compose = await readIfThere(box.project.composeFile)
  return {
    files: await backUpFiles(plan.changes, suffix),
    hadEdge: readCompose(compose ?? '', box.project.name).services.edge !== undefined,
    hadProbe: (await readIfThere(probeFile(box.project))) !== undefined,
    reread: rereaders(box, plan.changes),
    diff: plan.diff,
    recorded: { chatDomain: box.chatDomain, ports: box.ports },
    place: { database: plan.database, mounts: await mountsNow(run) },
  }
}

/** Services to restart for changed mounted files, which compose does not detect. */
function rereaders({ project }: LocalBox, changes: readonly FileChange[]): Service[] {
  const edge = changes.some(({ path }) => path.startsWith(join(project.folder, 'edge', 'conf.d')))
  const chat = changes.some(({ path }) => /\.ya?ml$/.test(path) && path !== project.composeFile)
  return [...(chat ? (['synapse'] as const) : []), ...(edge ? (['edge'] as const) : [])]
}

/** The plan that the operator confirmed. Throws CONFLICT when the stack has changed since, PREFLIGHT_REFUSED while there are findings. */
export async function expectedPlan({ deps, box, payload }: Pick<Completion, 'deps' | 'box' | 'payload'>): Promise<Plan> {
  const plan = await planCompletion(deps, box, payload)
  if (plan.findings.length > 0) throw problem('PREFLIGHT_REFUSED', `Cannot complete ${box.slug}: ${plan.findings.join('; ')}`)
  if (plan.diffSha256 === payload.expected) return plan
  throw problem('CONFLICT', `The stack of ${box.slug} changed after the diff was shown. fix: show the diff again and confirm it`)
}

async function plannedChanges(run: Completion): Promise<FileChange[]> {
  const text = await readIfThere(planFile(run))
  if (text === undefined)
    throw problem('INTERNAL', `The plan of ${run.box.slug} is missing in the agent's folder. fix: start the completion again`)
  return JSON.parse(text) as FileChange[]
}

async function currentSecrets({ box }: Completion) {
  const secrets = await readBoxSecrets(box.project)
  if (!secrets) throw problem('CONFLICT', `The secrets of ${box.slug} were removed during the completion. fix: start the completion again`)
  return secrets
}

function prove({ deps, context, payload, ...run }: Completion, signal: AbortSignal): Promise<ProbeResult> {
  const { consecutive } = payload.probe
  return waitUntilStable(deps, completed({ deps, context, payload, ...run }), {
    rule: payload.probe,
    signal,
    onProbe: ({ reason }, good) =>
      context.progress({ step: 'prove', detail: reason ?? `${good} of ${consecutive} good`, percent: (100 * good) / consecutive }),
  })
}

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Clock }>

type BringUp = Readonly<{ reread: readonly Service[]; signal: AbortSignal; onceDatabaseRuns?: () => Promise<void> }>

/**
 * Starts or recreates services that are outdated, stopped or in `reread` (changed config); leaves others alone. Synapse is stopped while its
 * database is recreated.
 */
async function bringUp({ engine, servers, clock }: Deps, box: LocalBox, { reread, signal, onceDatabaseRuns }: BringUp): Promise<void> {
  const { project } = box
  const [composed, containers] = await Promise.all([engine.composedServices(project), engine.containers(project)])
  const differing = differencesOf(project, { composed, containers }).flatMap(({ services }) => services)
  const isCurrent = (service: Service) =>
    containers.some((one) => one.service === service && one.state === 'running') && !differing.includes(service)
  const requested = Service.options.filter((service) => composed[service] !== undefined)
  const stale = requested.filter((service) => !isCurrent(service) || reread.includes(service))
  const all = stale.includes('postgres') ? [...new Set<Service>([...stale, 'synapse'])] : stale
  await engine.stop(
    project,
    all.filter((service) => service === 'synapse' || service === 'edge'),
  )
  const up = async (service: Service) => {
    if (all.includes(service)) await engine.up(project, [service], signal)
  }
  await up('postgres')
  await waitForService({ engine, clock, signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
  await onceDatabaseRuns?.()
  await up('minio')
  await up('synapse')
  await up('edge')
  await waitForService({ engine, clock, signal }, box, {
    service: 'synapse',
    isUp: async () => (await servers.serverVersions(box)).synapse !== undefined,
  })
}

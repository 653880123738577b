import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type CompletionStep, type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type Clock, problem, secret } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { bringImages, probeFile, readBoxSecrets, readCompose, waitForService, waitUntilStable, writeProbeAccount } from '../boxes/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox } from '../ports/index.ts'
import type { SagaActs, StepContext } from '../saga/index.ts'
import { applyFiles, type KeptFile, keepFiles, makeFenceFolder, putBack } from './kept-files.ts'
import { type Complete, type FileChange, type Plan, type PlanDeps, planCompletion } from './plan-completion.ts'
import { pendingFile } from './secrets.ts'

/** What the journal keeps of the box before: enough to put it back without the plan. */
type Before = Readonly<{
  files: readonly KeptFile[]
  hadEdge: boolean
  hadProbe: boolean
  reread: readonly Service[]
  diff: string
  /** As it was recorded; absent in what earlier agents wrote down. */
  recorded?: Pick<LocalBox, 'chatDomain' | 'ports'>
}>

type Completion = Readonly<{
  deps: PlanDeps
  context: CommandContext
  payload: Complete
  /** As it is recorded while it is only observed. */
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
  start: async (at) => bringUp(run.deps, completed(run), { reread: beforeOf(at).reread, signal: at.signal }),
  account: async ({ signal }) => {
    const { appserviceToken } = await secretsNow(run)
    await writeProbeAccount(run.box.project, await run.deps.servers.createProbeAccount(completed(run), secret(appserviceToken), signal))
  },
  prove: ({ signal }) => prove(run, signal),
  deliver: async () => {
    const { edgeSecret, appserviceToken, registrationSharedSecret } = await secretsNow(run)
    await run.context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret })
  },
  manage: () => run.deps.boxes.put({ ...completed(run), managed: true }),
  tidy: async () => {
    await rm(planFile(run), { force: true })
    await rm(pendingFile(run.deps.stateFolder, run.box.slug), { force: true })
  },
  'put-back': async (at) => {
    const { files, hadProbe } = beforeOf(at)
    await putBack(files)
    if (!hadProbe) await rm(probeFile(run.box.project), { force: true })
    // `manage` may have written it, and failed over a disk that then said no: a box with its former files is only observed.
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
  if (!before) throw problem('INTERNAL', 'the journal does not say what the box was before')
  return before
}

const observed = (at: Pick<StepContext<CompletionStep>, 'resultOf'>): Partial<LocalBox> => beforeOf(at).recorded ?? { ports: null }

async function bringEdge({ deps, payload, context }: Completion, signal: AbortSignal): Promise<void> {
  const image = payload.edgeImage
  if ((await deps.engine.localDigest(image)) !== undefined) return
  const { allowedImages } = deps.settings
  await bringImages({ ...deps, allowedImages }, { images: { edge: { image } }, step: 'images', context, signal })
}

/** The texts, secrets among them: 0600 in the agent's own folder, as long as the command is open. */
const planFile = ({ deps, context }: Completion): string =>
  join(deps.stateFolder, 'adoption', `${encodeURIComponent(context.commandId)}.plan.json`)

async function keep(run: Completion): Promise<Before> {
  const { box, begunAt, context } = run
  const plan = await expectedPlan(run)
  await writeFileAtomic(planFile(run), JSON.stringify(plan.changes))
  const suffix = `${begunAt.replaceAll(':', '-')}.${encodeURIComponent(context.commandId)}`
  const compose = await readIfThere(box.project.composeFile)
  return {
    files: await keepFiles(plan.changes, suffix),
    hadEdge: readCompose(compose ?? '', box.project.name).services.edge !== undefined,
    hadProbe: (await readIfThere(probeFile(box.project))) !== undefined,
    reread: rereaders(box, plan.changes),
    diff: plan.diff,
    recorded: { chatDomain: box.chatDomain, ports: box.ports },
  }
}

/** Compose does not see that the content of a mounted file is another. */
function rereaders({ project }: LocalBox, changes: readonly FileChange[]): Service[] {
  const edge = changes.some(({ path }) => path.startsWith(join(project.folder, 'edge', 'conf.d')))
  const chat = changes.some(({ path }) => /\.ya?ml$/.test(path) && path !== project.composeFile)
  return [...(chat ? (['synapse'] as const) : []), ...(edge ? (['edge'] as const) : [])]
}

/** What a person saw, and nothing else. Throws CONFLICT when the stack changed since, PREFLIGHT_REFUSED while something keeps it from being managed. */
export async function expectedPlan({ deps, box, payload }: Pick<Completion, 'deps' | 'box' | 'payload'>): Promise<Plan> {
  const plan = await planCompletion(deps, box, payload)
  if (plan.findings.length > 0) throw problem('PREFLIGHT_REFUSED', `${box.slug} cannot be completed: ${plan.findings.join('; ')}`)
  if (plan.diffSha256 === payload.expected) return plan
  throw problem('CONFLICT', `what ${box.slug} lacks is no longer what was shown: look again, then complete it with the new sum`)
}

async function plannedChanges(run: Completion): Promise<FileChange[]> {
  const text = await readIfThere(planFile(run))
  if (text === undefined) throw problem('INTERNAL', `the plan of ${run.box.slug} is gone from the agent's folder: look again`)
  return JSON.parse(text) as FileChange[]
}

async function secretsNow({ box }: Completion) {
  const secrets = await readBoxSecrets(box.project)
  if (!secrets) throw problem('CONFLICT', `the secrets of ${box.slug} were removed while it was completed: look again`)
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

/**
 * Brings a box to what its files say: what compose would recreate, what does not run, and what has to read its config again (`reread`);
 * nothing else is touched. The chat server is stopped while its database is exchanged, and started after it.
 */
async function bringUp(
  { engine, servers, clock }: Deps,
  box: LocalBox,
  { reread, signal }: Readonly<{ reread: readonly Service[]; signal: AbortSignal }>,
): Promise<void> {
  const { project } = box
  const hashes = await engine.configHashes(project)
  const present = await engine.containers(project)
  const isCurrent = (service: Service) =>
    present.some((one) => one.service === service && hashes[service]?.includes(one.configHash ?? '') && one.state === 'running')
  const wanted = Service.options.filter((service) => hashes[service] !== undefined)
  const stale = wanted.filter((service) => !isCurrent(service) || reread.includes(service))
  const all = stale.includes('postgres') ? [...new Set<Service>([...stale, 'synapse'])] : stale
  await engine.stop(
    project,
    all.filter((service) => service === 'synapse' || service === 'edge'),
  )
  const up = async (service: Service) => {
    if (all.includes(service)) await engine.up(project, [service], signal)
  }
  await up('postgres')
  await waitForService({ engine, clock }, { signal }, box, 'postgres', () => servers.databaseReady(box))
  await up('minio')
  await up('synapse')
  await up('edge')
  await waitForService({ engine, clock }, { signal }, box, 'synapse', async () => (await servers.serverVersions(box)).synapse !== undefined)
}

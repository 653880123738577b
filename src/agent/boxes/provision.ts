import { mkdir, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type BoxCommandPayload, boxCommands, noMigrations } from '../../core/boxes/index.ts'
import { type Clock, problem, type Random, secret } from '../../core/kit/index.ts'
import type { BoxServers, CommandContext, CommandExecutor, ContainerEngine, LocalBox, Project } from '../ports/index.ts'
import { applyMigrations, migrationsFor } from './box-database.ts'
import { type BoxSecrets, newBoxSecrets, readBoxSecrets, writeBoxSecrets, writeProbeAccount } from './box-secrets.ts'
import type { BoxSettings } from './box-settings.ts'
import { assertAllowedImage } from './image-names.ts'
import { existingBox, type LocalBoxes, projectOf } from './local-boxes.ts'
import { pullImages } from './pull-images.ts'
import { renderedFiles, writeBoxFiles } from './render-box.ts'
import { reportVersions } from './report-versions.ts'
import { assertSafeFolder } from './safe-folder.ts'
import { waitForService, waitUntilStable } from './wait.ts'

type Provision = BoxCommandPayload<'tenant-box.provision'>

export type ProvisionDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  clock: Clock
  random: Random
  boxes: LocalBoxes
  settings: BoxSettings
  portInUse(port: number): Promise<boolean>
}>

/**
 * Creates a box and probes it until it is healthy. Every step is idempotent, so the command can be killed at any line and run again: secrets
 * are generated once, files render to the same bytes, up-to-date containers stay.
 */
export const provision =
  (deps: ProvisionDeps): CommandExecutor<'tenant-box.provision'> =>
  async (context, input) => {
    const payload = boxCommands['tenant-box.provision'].payload.parse(input)
    for (const image of Object.values(payload.images)) assertAllowedImage(deps.settings.allowedImages, image)
    context.progress({ step: 'files' })
    const { box, secrets } = await prepareBoxFolder(deps, payload)
    await pullAll(deps, context, payload)
    await startAll(deps, context, { box, head: payload.migrationsHead ?? noMigrations })
    await makeProbeAccount(deps, context, { box, secrets })
    const { edgeSecret, appserviceToken, registrationSharedSecret } = secrets
    await context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret })
    const probe = await waitUntilStable(deps, box, {
      rule: payload.probe,
      signal: context.signal,
      onProbe: ({ reason }, good) =>
        context.progress({
          step: 'probe',
          detail: reason ?? `${good} of ${payload.probe.consecutive} good`,
          percent: (100 * good) / payload.probe.consecutive,
        }),
    })
    const managed = { ...box, managed: true }
    await deps.boxes.put(managed)
    return { report: await reportVersions(deps, managed), probe }
  }

/** A tag on this host may be of any origin, such as another tenant's snapshot: the manifest's digest decides, else the registry. */
async function pullAll(
  { engine, clock, settings }: ProvisionDeps,
  context: CommandContext,
  { images, digests = {} }: Provision,
): Promise<void> {
  const { allowedImages } = settings
  const requested = Object.fromEntries(Object.values(images).map((image) => [image, { image, digest: digests[image] }]))
  await pullImages({ engine, clock, allowedImages }, { images: requested, step: 'pull', context, signal: context.signal })
}

/** Starts the database first: Synapse exits without one, and its restarts would look like a crash loop. */
async function startAll(
  deps: ProvisionDeps,
  context: CommandContext,
  { box, head }: Readonly<{ box: LocalBox; head: string }>,
): Promise<void> {
  const { engine, servers } = deps
  context.progress({ step: 'database' })
  await engine.up(box.project, ['postgres', 'minio'], context.signal)
  await waitForService({ ...deps, signal: context.signal }, box, { service: 'postgres', isUp: () => servers.databaseReady(box) })
  if (head !== noMigrations) await applyMigrations({ ...deps, ...context }, box, await migrationsFor({ ...deps, ...context }, box, head))
  context.progress({ step: 'chat' })
  await engine.up(box.project, ['synapse', 'edge'], context.signal)
  await waitForService({ ...deps, signal: context.signal }, box, {
    service: 'synapse',
    isUp: async () => (await servers.serverVersions(box)).synapse !== undefined,
  })
}

type PreparedBox = Readonly<{ box: LocalBox; secrets: BoxSecrets }>

async function makeProbeAccount({ servers }: ProvisionDeps, context: CommandContext, { box, secrets }: PreparedBox): Promise<void> {
  context.progress({ step: 'probe-user' })
  await writeProbeAccount(box.project, await servers.createProbeAccount(box, secret(secrets.appserviceToken), context.signal))
}

/** Creates the folder, secrets, files and record of a box, or finds them again. Throws ALREADY_EXISTS or PORT_TAKEN before anything is created. */
async function prepareBoxFolder(deps: ProvisionDeps, payload: Provision): Promise<PreparedBox> {
  const project = projectOf(deps.settings, payload.slug)
  const facts = factsOf(deps, payload, project)
  const box = await existingBox(deps.boxes, payload)
  const secrets = await ownSecrets(payload, project)
  if (!secrets) await assertPlaceFree(deps, payload, project)
  await mkdir(join(project.folder, 'secrets'), { recursive: true, mode: 0o700 })
  const made = secrets ?? newBoxSecrets(deps.random, payload.boxId)
  if (!secrets) await writeBoxSecrets(project, made)
  if (!box?.managed) await writeBoxFiles(project.folder, await renderedFiles(deps.settings.templateFolder, facts, made))
  await assertSafeFolder(project)
  const ready = box ? { ...box, ownershipEpoch: payload.ownershipEpoch } : newBox(payload, project)
  await deps.boxes.put(ready)
  return { box: ready, secrets: made }
}

/** The secrets of an earlier run for the same box; undefined on the first run. */
async function ownSecrets({ boxId }: Provision, project: Project): Promise<BoxSecrets | undefined> {
  const secrets = await readBoxSecrets(project)
  if (secrets && secrets.boxId !== boxId)
    throw problem('ALREADY_EXISTS', `Folder ${project.folder} belongs to another box (id ${secrets.boxId})`)
  if (secrets) return secrets
  const present = (await readdir(project.folder).catch(() => [])).filter((name) => name !== 'secrets')
  if (present.length > 0) throw problem('ALREADY_EXISTS', `Folder ${project.folder} is not empty. fix: move it away, or adopt it`)
  return undefined
}

/** Throws PORT_TAKEN or ALREADY_EXISTS when the ports or the project name are in use. */
export async function assertPlaceFree(
  { boxes, engine, portInUse }: Pick<ProvisionDeps, 'boxes' | 'engine' | 'portInUse'>,
  { ports, slug }: Pick<Provision, 'ports' | 'slug'>,
  project: Project,
): Promise<void> {
  const requested = Object.entries(ports)
  if (new Set(Object.values(ports)).size < requested.length) throw problem('PORT_TAKEN', `The three ports of ${slug} must differ`)
  if ((await engine.containers(project)).length > 0)
    throw problem('ALREADY_EXISTS', `Containers of project ${project.name} already exist on this host`)
  const all = await boxes.list()
  // A box that was completed in place has them already, and gives them to its import.
  const own = Object.values(all.find((box) => box.slug === slug)?.ports ?? {})
  for (const other of all.filter((box) => box.slug !== slug)) {
    const clash = requested.find(([, port]) => Object.values(other.ports ?? {}).includes(port))
    if (clash) throw problem('PORT_TAKEN', `The ${clash[0]} port ${clash[1]} belongs to box ${other.slug}`)
  }
  for (const [name, port] of requested)
    if (!own.includes(port) && (await portInUse(port))) throw problem('PORT_TAKEN', `The ${name} port ${port} is in use on this host`)
}

const factsOf = ({ settings }: ProvisionDeps, payload: Provision, project: Project) => ({
  slug: payload.slug,
  boxId: payload.boxId,
  project: project.name,
  chatDomain: payload.chatDomain,
  publicUrl: plainUrl(payload.publicUrl),
  images: payload.images,
  ports: payload.ports,
  binds: settings.binds,
  maxUploadMegabytes: settings.maxUploadMegabytes,
})

/** Scheme, host and port only, because it is written into the edge's config. */
export function plainUrl(text: string): string {
  if (/^https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?\/?$/.test(text)) return text.replace(/\/$/, '')
  throw problem('VALIDATION', `publicUrl must be scheme, host and port only, such as https://chat.school.example`)
}

/** The box becomes managed only once it is healthy. */
const newBox = ({ slug, boxId, ownershipEpoch, chatDomain, ports }: Provision, project: Project): LocalBox => ({
  ...{ slug, boxId, ownershipEpoch, managed: false, chatDomain, project, ports },
  migrationsHead: '0000',
})

/** True when a process on this host listens on the port. */
export const portInUse = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(true))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(false)))
  })

import { readdir } from 'node:fs/promises'
import { dirname, join, posix, relative } from 'node:path'
import { parse } from 'yaml'
import { type BoxCommandPayload, unifiedDiff } from '../../core/boxes/index.ts'
import { type Clock, canonicalJson, isProblem, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import {
  assertAllowedImage,
  assertSafeFolder,
  type BoxSecrets,
  type BoxSettings,
  databaseFilesFindings,
  differenceFindings,
  fileSetFindings,
  guardFindings,
  type LocalBoxes,
  otherDatabasesFinding,
  plainUrl,
  readFence,
  recordOf,
  renderedFiles,
  resolvedFacts,
  secretsFile,
  secretsText,
  softLogoutFile,
} from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'
import { completeCompose, completeHomeserver } from './complete-config.ts'
import { databaseNames, findingsOf } from './findings.ts'
import { literalImages } from './literal-images.ts'
import { boxSecretsFor, pendingSecrets, platformService, redact } from './secrets.ts'

import { type HostFile, readHostFile, type Survey, surveyStack } from './survey.ts'

export type Complete = BoxCommandPayload<'tenant-box.complete'>

export type PlanDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  boxes: LocalBoxes
  clock: Clock
  random: Random
  settings: BoxSettings
  stateFolder: string
  portInUse(port: number): Promise<boolean>
}>

/** One changed file; null = absent. `shown` is its name in the diff, null for files that contain only secrets. */
export type FileChange = Readonly<{
  path: string
  shown: string | null
  before: string | null
  after: string | null
  mode: number
  uid: number
  gid: number
}>

export type Plan = Readonly<{
  changes: readonly FileChange[]
  findings: readonly string[]
  diff: string
  diffSha256: string
  /** The chat server's database. */
  database: string
}>

const maxDiffLength = 190_000

/** Computes all changes that make an observed box managed. Changes nothing in the box. */
export async function planCompletion(deps: PlanDeps, box: LocalBox, payload: Complete): Promise<Plan> {
  await assertSafeFolder(box.project)
  assertAllowedImage(deps.settings.allowedImages, payload.edgeImage)
  const survey = await surveyStack(deps.engine, box)
  await assertPortsFree(deps, survey, payload)
  const { images, findings } = await literalImages(deps, survey)
  const secrets = await boxSecretsFor(survey, await pendingSecrets(deps, box))
  const found = [
    ...findingsOf(survey, payload.chatDomain),
    ...findings,
    ...(await fileSetFindings(box.project)),
    ...(await differenceFindings(deps.engine, box.project)),
    ...(await otherDatabases(deps, survey)),
    ...(await fenceFinding(box)),
  ]
  // Only once the rest is right: a stack without a database volume has its finding already.
  if (found.length === 0) found.push(...(await guardFindings(deps, box, survey.compose.text)))
  if (found.length === 0) found.push(...(await databaseFiles(deps, survey)))
  const planned = await changesOf(deps, survey, { payload, wants: { images, secrets } })
  const changes = 'unable' in planned ? [] : planned.filter(({ before, after }) => before !== after)
  const diff = redact(
    changes.map(({ shown, before, after }) => (shown === null ? '' : unifiedDiff(shown, before, after))).join(''),
    Object.entries(secrets).flatMap(([name, value]) => (name === 'boxId' || name === 'signingKeyId' ? [] : [value])),
  )
  if (diff.length > maxDiffLength)
    throw problem('PAYLOAD_TOO_LARGE', `The diff of ${box.slug} is too large to review. fix: adapt the stack manually`)
  const { database } = databaseNames(survey).said
  return { changes, findings: 'unable' in planned ? [...found, planned.unable] : found, diff, diffSha256: sumOf(changes), database }
}

/** Checksum over the real files including secrets. */
const sumOf = (changes: readonly FileChange[]): string =>
  sha256Hex(
    canonicalJson(changes.map(({ path, before, after, mode }) => ({ path, mode, before: sumOrNull(before), after: sumOrNull(after) }))),
  )

export const sumOrNull = (text: string | null): string | null => (text === null ? null : sha256Hex(text))

/** The completion may switch to another database, so the current one counts as other too. */
async function otherDatabases({ servers }: PlanDeps, survey: Survey): Promise<string[]> {
  const facts = await servers.databaseFacts(survey.box)
  const { said, found } = databaseNames(survey)
  const others = [...(facts?.otherDatabases ?? []), ...(facts ? [found.database] : [])].filter(
    (name) => name !== said.database && name !== 'postgres',
  )
  return others.length === 0 || said.database === '' ? [] : [otherDatabasesFinding(others)]
}

async function databaseFiles({ engine, servers }: PlanDeps, { box, compose }: Survey): Promise<string[]> {
  const facts = await servers.databaseFacts(box)
  const { database } = await resolvedFacts({ engine }, box, compose.text)
  return facts && database ? databaseFilesFindings({ engine }, facts, database.volume) : []
}

const fenceFinding = async ({ project }: LocalBox): Promise<string[]> =>
  (await readFence(project)) ? ['the fence file edge/fence/on exists, so the box would be fenced. fix: remove it'] : []

async function assertPortsFree({ boxes, portInUse }: PlanDeps, { box, services }: Survey, { ports }: Complete): Promise<void> {
  const requested = Object.entries(ports)
  if (new Set(Object.values(ports)).size < requested.length) throw problem('PORT_TAKEN', `The three ports of ${box.slug} must differ`)
  const own = Object.values(services).flatMap(publishedPorts)
  for (const other of (await boxes.list()).filter(({ slug }) => slug !== box.slug)) {
    const clash = requested.find(([, port]) => Object.values(other.ports ?? {}).includes(port))
    if (clash) throw problem('PORT_TAKEN', `The ${clash[0]} port ${clash[1]} belongs to box ${other.slug}`)
  }
  for (const [name, port] of requested)
    if (!own.includes(port) && (await portInUse(port))) throw problem('PORT_TAKEN', `The ${name} port ${port} is in use on this host`)
}

function publishedPorts({ ports }: Record<string, unknown>): number[] {
  if (!Array.isArray(ports)) return []
  return ports.map((port) => Number(typeof port === 'object' ? recordOf(port).published : String(port).split(':').at(-2)))
}

type Wants = Readonly<{ images: Readonly<Record<string, string>>; secrets: BoxSecrets }>

async function changesOf(
  deps: PlanDeps,
  survey: Survey,
  { payload, wants }: Readonly<{ payload: Complete; wants: Wants }>,
): Promise<FileChange[] | { unable: string }> {
  try {
    const rendered = await renderedFiles(deps.settings.templateFolder, factsOf(deps, survey, payload), withPlain(wants.secrets))
    const compose = composeChange(survey, rendered.get('compose.yaml') as string, wants.images)
    // Compose's parser is stricter than ours in places.
    await deps.engine.resolveCompose(survey.box.project, compose.after as string)
    return [
      compose,
      ...chatChanges(survey, rendered.get('synapse/appservice.yaml') as string, wants.secrets),
      ...(await edgeChanges(survey, rendered)),
      ...(await secretChanges(survey, wants.secrets)),
    ]
  } catch (error) {
    if (isProblem(error, 'COMPOSE_INVALID')) return { unable: error.message }
    throw error
  }
}

/** Replaces values that the template rejects; they occur only in files that the stack does not take from it. */
const withPlain = (secrets: BoxSecrets): BoxSecrets =>
  Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [name, /^[\x21-\x7e]+$/.test(value) && !/["'`{};$#]/.test(value) ? value : 'unused']),
  ) as BoxSecrets

const factsOf = ({ settings }: PlanDeps, { box, chat }: Survey, { chatDomain, publicUrl, edgeImage, ports }: Complete) => ({
  slug: box.slug,
  boxId: box.boxId,
  project: box.project.name,
  chatDomain,
  publicUrl: plainUrl(publicUrl),
  images: { edge: edgeImage, synapse: 'unused', postgres: 'unused', minio: 'unused' },
  ports,
  binds: settings.binds,
  // The edge must accept uploads that the chat server accepts.
  maxUploadMegabytes: Math.max(settings.maxUploadMegabytes, Math.ceil(megabytes(chat.plain.max_upload_size))),
})

/** Parses Synapse sizes; default 50M. */
function megabytes(value: unknown): number {
  const [, count, unit] = /^([0-9]+)([KMG]?)$/.exec(String(value ?? '50M')) ?? []
  return Number(count ?? 50) * { K: 1 / 1024, M: 1, G: 1024, '': 1 / 1024 / 1024 }[(unit ?? 'M') as 'K' | 'M' | 'G' | ''] || 50
}

function composeChange(survey: Survey, template: string, images: Readonly<Record<string, string>>): FileChange {
  const edge = { ...recordOf(recordOf(parse(template, { merge: true }).services).edge), ...networksFor(survey) }
  const { said, found } = databaseNames(survey)
  const names = said.user === found.user && said.database === found.database
  const after = completeCompose(survey.compose.text, { edge, images, ...(names ? {} : { databaseName: said.database }) })
  return { ...exchanged(survey, survey.compose), after }
}

/** The edge joins the networks of synapse and minio. */
function networksFor({ services }: Survey): { networks?: string[] } {
  const of = (name: string): string[] => {
    const networks = services[name]?.networks
    if (Array.isArray(networks)) return networks.map(String)
    return networks ? Object.keys(recordOf(networks)) : ['default']
  }
  const all = [...new Set([...of('synapse'), ...of('minio')])]
  return all.join() === 'default' ? {} : { networks: all }
}

const exchanged = ({ box }: Survey, { path, text, mode, uid, gid }: HostFile): FileChange => ({
  path,
  shown: path.startsWith(`${box.project.folder}/`) ? relative(box.project.folder, path) : path,
  before: text,
  after: text,
  mode,
  uid,
  gid,
})

const registrationName = 'tenantry-appservice.yaml'

function chatChanges(survey: Survey, template: string, { registrationSharedSecret }: BoxSecrets): FileChange[] {
  const { file, containerPath, registrations } = survey.chat
  if (!file) return []
  const known = registrations.find(({ plain, file }) => plain.id === platformService && file)
  const appserviceFile = known?.containerPath ?? posix.join(posix.dirname(containerPath), registrationName)
  const config = { ...exchanged(survey, file), after: completeHomeserver(file.text, { appserviceFile, registrationSharedSecret }) }
  // Same owner and mode as the config.
  const registration = known?.file
    ? exchanged(survey, known.file)
    : { ...exchanged(survey, { ...file, path: join(dirname(file.path), registrationName) }), before: null }
  const same = known && canonicalJson(known.plain) === canonicalJson(parse(template))
  return [config, { ...registration, after: same ? registration.before : template }]
}

const ownFile = { mode: 0o600, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }

async function change(survey: Survey, path: string, after: string | null): Promise<FileChange> {
  const full = join(survey.box.project.folder, path)
  const file = await readHostFile(full)
  return { path: full, shown: path, before: file?.text ?? null, after, ...ownFile }
}

const secretChange = async (survey: Survey, path: string, after: string): Promise<FileChange> => ({
  ...(await change(survey, path, after)),
  shown: null,
})

const edgeFolder = 'edge/conf.d'

/** nginx loads every .conf file of the folder, so foreign ones are removed. */
async function edgeChanges(survey: Survey, rendered: ReadonlyMap<string, string>): Promise<FileChange[]> {
  const ours = [...rendered.keys()].filter((path) => path.startsWith(`${edgeFolder}/`))
  const staying = [...ours, softLogoutFile]
  const present = await readdir(join(survey.box.project.folder, edgeFolder)).catch(() => [])
  const others = present.map((name) => `${edgeFolder}/${name}`).filter((path) => path.endsWith('.conf') && !staying.includes(path))
  return Promise.all([
    ...ours.map((path) => change(survey, path, rendered.get(path) as string)),
    ...others.map((path) => change(survey, path, null)),
  ])
}

/** Secret files that the agent needs in a managed box. */
async function secretChanges(survey: Survey, secrets: BoxSecrets): Promise<FileChange[]> {
  const { folder } = survey.box.project
  const user = survey.environment.minio?.MINIO_ROOT_USER || 'minioadmin'
  return Promise.all([
    secretChange(survey, relative(folder, secretsFile(survey.box.project)), secretsText(secrets)),
    secretChange(survey, 'secrets/minio/root-user', `${user}\n`),
    secretChange(survey, 'secrets/minio/root-password', `${secrets.minioRootPassword}\n`),
  ])
}

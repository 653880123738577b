import { join, posix } from 'node:path'
import { z } from 'zod'
import {
  type DatabaseEvidence,
  effectiveSettings,
  type ImportEvidence,
  isFound,
  type MediaEvidence,
  type ObjectsEvidence,
} from '../../core/boxes/index.ts'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import type { DiskSpace } from '../backup/index.ts'
import type { ContainerEngine, ForeignStack, HostContainer, LocalBox } from '../ports/index.ts'
import { findChat, type RunningChat } from './chat-evidence.ts'
import { mediaScript, python } from './chat-script.ts'
import { addressesOf, databaseEvidence, findDatabase, queryServer } from './database-evidence.ts'
import { mediaSql } from './database-sql.ts'
import { isLinkable } from './linkable.ts'
import { chatAddresses } from './published.ts'

export type SurveyDeps = Readonly<{ engine: ContainerEngine; disk: DiskSpace; stateFolder: string }>

/** The evidence, and the stack where all of it was found. */
export type Surveyed = Readonly<{ evidence: ImportEvidence; stack: ForeignStack | undefined }>

/** Asks the running programs of a stack. Writes nothing. A part that cannot be found is a result with its reason. */
export async function surveyStack(deps: SurveyDeps, { project }: Pick<LocalBox, 'project'>, signal: AbortSignal): Promise<Surveyed> {
  const { engine } = deps
  const containers = await engine.hostContainers()
  const own = containers.filter((one) => one.project === project.name)
  const survey = { engine, containers, signal }
  const chat = await found(() => findChat(engine, own, signal))
  const database = 'failure' in chat ? unknown : await found(() => findDatabase(survey, chat))
  const objects = own.find(isObjectStore)
  const addresses = await chatAddresses(own, signal)
  const holders = own.filter(({ name }) => addresses.some(({ container }) => container === name))
  const parts = [
    ...('failure' in chat ? [] : [chat.container, ...chat.workers]),
    ...('failure' in database ? [] : [database.server.container]),
    ...(objects ? [objects] : []),
    ...holders,
  ].map(({ id }) => id)
  const disk = (await engine.volumesFolder()) ?? deps.stateFolder
  const evidence: ImportEvidence = {
    chat: 'failure' in chat ? chat : chat.evidence,
    database:
      'failure' in chat || 'failure' in database
        ? (database as Failure)
        : await found(() => databaseEvidence(survey, database, { chat, serverName: serverNameOf(chat) })),
    media:
      'failure' in chat || 'failure' in database
        ? unknown
        : await found(async () =>
            mediaEvidence({ ...deps, signal }, chat, await queryServer(database.server, database.database, mediaSql)),
          ),
    objects: objects ? await found(() => objectsEvidence(deps.disk, objects)) : null,
    addresses,
    imageFaults: [],
    otherContainers: 'failure' in chat ? [] : own.filter(({ id }) => !parts.includes(id)).map(({ name }) => name),
    freeBytes: await deps.disk.freeBytes(disk),
  }
  return {
    evidence,
    stack: 'failure' in chat || 'failure' in database ? undefined : stackOf({ chat, database, objects, holders, evidence }),
  }
}

type Parts = Readonly<{
  chat: RunningChat
  database: Awaited<ReturnType<typeof findDatabase>>
  objects: HostContainer | undefined
  holders: readonly HostContainer[]
  evidence: ImportEvidence
}>

function stackOf({ chat, database, objects, holders, evidence }: Parts): ForeignStack | undefined {
  if (!isFound(evidence.database) || (evidence.objects && !isFound(evidence.objects))) return undefined
  const { server, backends } = database
  // A server that other programs use, now or at other times, continues to run.
  const ownAddresses = addressesOf(chat)
  const isAlone = backends.every(({ address }) => address === null || ownAddresses.includes(address))
  const isOwn = server.container.project === chat.container.project && isAlone && evidence.database.otherDatabases.length === 0
  const asStopped = ({ id, name, alwaysRestarts }: HostContainer) => ({ id, name, alwaysRestarts })
  const others = [chat.container, ...chat.workers, ...(objects ? [objects] : [])].map(({ id }) => id)
  const proxies = holders.filter(({ id }) => !others.includes(id))
  return {
    project: chat.container.project ?? '',
    last: isOwn ? [asStopped(server.container)] : [],
    // A worker that continues would answer from the former database.
    stopped: [...proxies, ...chat.workers, chat.container, ...(objects ? [objects] : [])].map(asStopped),
    database: {
      ...{ container: server.container.id, database: database.database, role: server.role, port: server.port, isLocal: server.isLocal },
      otherSchemas: [...evidence.database.otherSchemas],
      hasExtensions: evidence.database.extensions.length > 0,
      ...filesOf(server.container, evidence.database),
    },
    media: mediaFolders(chat.container, chat.mediaPath),
    objects: objects && evidence.objects ? (hostPathOf(objects, evidence.objects.path) ?? null) : null,
    addresses: evidence.addresses.map(({ address, port }) => ({ address, port })),
  }
}

function filesOf(container: HostContainer, { dataFolder, systemId }: DatabaseEvidence): Pick<ForeignStack['database'], 'files'> {
  const folder = dataFolder === null ? undefined : hostPathOf(container, dataFolder)
  return folder === undefined || systemId === null ? {} : { files: { folder, systemId } }
}

type Failure = Readonly<{ failure: string }>
/** Follows from a failure that is reported already. */
const unknown: Failure = { failure: '' }

const found = async <Part>(find: () => Promise<Part>): Promise<Part | Failure> =>
  find().catch((error: unknown) => {
    if (isProblem(error) && error.code === 'BOX_UNHEALTHY') return { failure: error.message }
    throw error
  })

const serverNameOf = ({ evidence }: RunningChat): string => String(effectiveSettings(evidence.config).get('server_name')?.value ?? '')

const Checked = z.object({ bytes: z.number(), missing: z.array(z.string()), damaged: z.array(z.string()), links: z.array(z.string()) })

const Listed = z.object({ named: z.number().int(), sample: z.array(z.string()) })

type MediaDeps = SurveyDeps & Readonly<{ signal: AbortSignal }>

/** `printed`: the answer to `mediaSql`. */
async function mediaEvidence(
  { engine, signal }: MediaDeps,
  { container, mediaPath, workers }: RunningChat,
  printed: string,
): Promise<MediaEvidence> {
  const folder = hostPathOf(container, mediaPath)
  if (folder === undefined)
    throw problem(
      'BOX_UNHEALTHY',
      `The media in ${mediaPath} of ${container.name} are in no volume. fix: copy them into a volume and mount it at ${mediaPath}`,
    )
  const elsewhere = workers.find((worker) => ![undefined, folder].includes(hostPathOf(worker, mediaPath)))
  if (elsewhere)
    throw problem(
      'BOX_UNHEALTHY',
      `${elsewhere.name} has another folder at ${mediaPath} than ${container.name}, so media are in both. fix: move them into one, and mount that in both`,
    )
  const listed = Listed.safeParse(asJson(printed))
  if (!listed.success) throw problem('BOX_UNHEALTHY', 'The database names its media in an unexpected way', { cause: listed.error })
  const { named, sample } = listed.data
  const { exitCode, stdout } = await engine.exec(container.id, [...python(mediaScript), mediaPath], { stdin: sample.join('\n'), signal })
  const checked = exitCode === 0 ? Checked.safeParse(asJson(stdout)) : undefined
  if (!checked?.success)
    throw problem('BOX_UNHEALTHY', `The media in ${mediaPath} of ${container.name} cannot be read: exit code ${exitCode}`)
  const { links, ...state } = checked.data
  if (links.length > 0)
    throw problem(
      'BOX_UNHEALTHY',
      `Media of ${container.name} are symbolic links, and what they name would be left behind: ${links.slice(0, 3).join(', ')}. fix: replace them by what they name, or mount that there`,
    )
  return {
    path: mediaPath,
    ...state,
    named,
    checked: sample.length,
    isLinkable: await isLinkable(folder, await engine.volumesFolder()),
  }
}

/** Undefined for a path in the container's own layer. */
function hostPathOf({ mounts }: HostContainer, path: string): string | undefined {
  const mount = mounts
    .filter(({ target }) => path === target || path.startsWith(`${target}/`))
    .toSorted((a, b) => b.target.length - a.target.length)[0]
  return mount && join(mount.source, posix.relative(mount.target, path))
}

/** A part of the media folder may be a mount of its own. */
const mediaFolders = (container: HostContainer, path: string): ForeignStack['media'] => [
  ...[hostPathOf(container, path)].flatMap((from) => (from === undefined ? [] : [{ from, inside: '' }])),
  ...container.mounts.flatMap(({ source, target }) =>
    target.startsWith(`${path}/`) ? [{ from: source, inside: posix.relative(path, target) }] : [],
  ),
]

const isObjectStore = ({ image }: HostContainer): boolean => /(^|\/)minio(:|@|$)/.test(image)

async function objectsEvidence(disk: DiskSpace, container: HostContainer): Promise<ObjectsEvidence> {
  const words = container.command.join(' ').split(/\s+/)
  const drives = words.slice(words.indexOf('server') + 1).filter((word) => word.startsWith('/'))
  const [path = '/data', another] = drives
  if (another !== undefined || path.includes('{'))
    throw problem(
      'BOX_UNHEALTHY',
      `The object store ${container.name} has several drives; a box has one. fix: move its objects to one drive`,
    )
  const folder = hostPathOf(container, path)
  if (folder === undefined)
    throw problem('BOX_UNHEALTHY', `The objects in ${path} of ${container.name} are in no volume. fix: mount a volume at ${path}`)
  return { container: container.name, path, bytes: await disk.usedBytes(folder) }
}

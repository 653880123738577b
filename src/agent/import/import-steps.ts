import { access, mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  copyOf,
  type DatabaseCopy,
  type ImportFacts,
  type ImportStep,
  type ProbeResult,
  planImport,
  quickRule,
  Service,
} from '../../core/boxes/index.ts'
import { isoNow, problem, secret } from '../../core/kit/index.ts'
import { runConcurrently } from '../backup/index.ts'
import {
  applyMigrations,
  assertAllowedImage,
  assertSafeFolder,
  createFenceFile,
  migrationsFor,
  plainUrl,
  pullImages,
  readBoxSecrets,
  readFence,
  removeFenceFile,
  waitForService,
  waitUntilStable,
  writeProbeAccount,
} from '../boxes/index.ts'
import type { ChatMark, ForeignContent, ForeignDatabase, ForeignStack } from '../ports/index.ts'
import { renderPortableBox, startDatabase, watchfulServers } from '../rebuild/index.ts'
import type { SagaActs, StepContext } from '../saga/index.ts'
import { freshDatabase, makeVolumes, volumeOf } from './box-volumes.ts'
import { compareMedia } from './compare-media.ts'
import { type Base, copyBase, endBackup, reportFailedCopy, takeCopy } from './hot-copy.ts'
import type { ImportRun } from './import-run.ts'
import { type Mirrored, mirrorFiles } from './mirror-files.ts'
import { publishedEntry } from './published.ts'
import { startStack, stopStack } from './switch-stack.ts'

type At = StepContext<ImportStep>

export const importActs = (run: ImportRun): SagaActs<ImportStep> => {
  const { deps, context, payload, observed, box } = run
  const { engine, servers } = deps
  return {
    survey: ({ signal }) => assertReady(run, signal),
    images: ({ signal }) => pullOurs(run, signal),
    files: (at) => renderFiles(run, at),
    prepare: async (at) => {
      await makeVolumes(run)
      await startDatabase(deps, box, at.signal)
      await engine.create(box.project, ['minio', 'synapse', 'edge'], at.signal)
      // Most of it is taken while the stack still serves.
      await takeMedia(run, at)
    },
    copy: (at) => {
      // An import that an earlier version of the agent began.
      const { database, databaseCopy = copyOf('the agent was updated during the import') } = stackIn(at)
      return copyBase(run, { database, planned: databaseCopy }, at.signal)
    },
    fence: async (at) => {
      await stopStack(deps, stackIn(at), at.signal)
      // Its edge answers at the addresses of the stack from now on, and says that the chat will be back.
      await engine.up(box.project, ['edge'], at.signal)
    },
    data: (at) => takeData(run, at),
    compare: (at) => compare(run, at),
    start: async ({ signal }) => {
      const head = payload.migrationsHead
      if (head !== '0000')
        await applyMigrations({ ...deps, ...context, signal }, box, await migrationsFor({ ...deps, ...context }, box, head))
      // At once, since the database runs already: each call of compose takes a second of the downtime.
      await engine.up(box.project, Service.options, signal)
      const isUp = async () => (await servers.serverVersions(box)).synapse !== undefined
      await waitForService({ ...deps, signal }, box, { service: 'synapse', isUp })
    },
    account: async ({ signal }) => {
      const { appserviceToken } = await ownSecrets(run)
      await writeProbeAccount(box.project, await servers.createProbeAccount(box, secret(appserviceToken), signal))
    },
    probe: ({ signal }) => prove(run, signal),
    deliver: async () => {
      const { edgeSecret, appserviceToken, registrationSharedSecret } = await ownSecrets(run)
      await context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret })
    },
    keep: async (at) => {
      const { mark } = takenIn(at)
      const { chatDomain, project, managed, ports } = observed
      const imported = {
        at: isoNow(deps.clock),
        commandId: context.commandId,
        mark,
        stack: stackIn(at),
        observed: { chatDomain, project, managed, ports },
      }
      await deps.boxes.put({ ...box, imported })
    },
    open: async () => {
      if ((await readFence(box.project))?.holder === context.commandId) await removeFenceFile(box.project)
    },
    rest: (at) => engine.stopContainers(stackIn(at).last.map(({ id }) => id)),
    tidy: () => rm(dirname(run.dumpFolder), { recursive: true, force: true }),
    // Its edge lets go of the addresses of the stack, whose server keeps no more log.
    halt: async () => {
      await endBackup(run)
      await engine.stop(box.project, Service.options)
    },
    clear: async () => {
      await engine.removeProject(box.project.name)
      await rm(box.project.folder, { recursive: true, force: true })
      await rm(dirname(run.dumpFolder), { recursive: true, force: true })
      if ((await deps.boxes.find(box.slug))?.imported) await deps.boxes.put(observed)
    },
    return: (at) => startStack(deps, stackIn(at), at.signal),
  }
}

/** As the survey found it, with the way that its database is taken. */
type PlannedStack = ForeignStack & Readonly<{ databaseCopy?: DatabaseCopy }>

function stackIn(at: Pick<At, 'resultOf'>): PlannedStack {
  const stack = at.resultOf('survey') as PlannedStack | undefined
  if (!stack) throw problem('INTERNAL', 'The journal does not contain the foreign stack')
  return stack
}

/** Throws PREFLIGHT_REFUSED with everything that blocks the import. */
async function assertReady({ deps, payload, observed }: ImportRun, signal: AbortSignal): Promise<PlannedStack> {
  const { evidence, stack } = await deps.foreign.survey(observed, signal)
  const { ready, blockers, databaseCopy } = planImport({ evidence, ...payload })
  if (ready && stack) return { ...stack, ...(databaseCopy ? { databaseCopy } : {}) }
  throw problem(
    'PREFLIGHT_REFUSED',
    `${payload.slug} cannot be imported: ${blockers.slice(0, 10).join('; ')}. fix: tenantry boxes import ${payload.slug} --plan`,
  )
}

async function pullOurs({ deps, context, payload }: ImportRun, signal: AbortSignal): Promise<void> {
  const { engine, clock, settings } = deps
  const { images, digests = {} } = payload
  const requested = Object.fromEntries(Object.values(images).map((image) => [image, { image, digest: digests[image] }]))
  const { allowedImages } = settings
  await pullImages({ engine, clock, allowedImages }, { images: requested, step: 'images', context, signal })
}

/** Begins from an empty folder each time. */
async function renderFiles({ deps, context, payload, observed, box }: ImportRun, at: At): Promise<void> {
  const { settings, random, engine } = deps
  const { slug, boxId, chatDomain, images, ports } = payload
  for (const image of Object.values(images)) assertAllowedImage(settings.allowedImages, image)
  const portable = await deps.foreign.settings(observed, at.signal)
  // Left by an import that was undone.
  await engine.removeProject(box.project.name)
  const { binds, maxUploadMegabytes, templateFolder } = settings
  const facts = { slug, boxId, chatDomain, publicUrl: plainUrl(payload.publicUrl), images, ports, binds, maxUploadMegabytes }
  // The edge of the template publishes its own ports already.
  const published = stackIn(at)
    .addresses.filter(({ port }) => !Object.values(ports).includes(port))
    .map(publishedEntry)
  await renderPortableBox({ random, templateFolder }, { portable, project: box.project, facts, published })
  await assertSafeFolder(box.project)
  // Before anything of it runs: until it is proven and recorded, no client may reach it.
  await createFenceFile(box.project, { commandId: context.commandId, raisedAt: isoNow(deps.clock) })
}

/** Cached pictures of linked pages are not of the users. */
const leftOut = ['url_cache', 'url_cache_thumbnails']

async function takeMedia(run: ImportRun, at: At, signal = at.signal): Promise<Mirrored> {
  const [, into] = await volumeOf(run, 'synapse')
  return mirrorFiles({ sources: stackIn(at).media, into, isMedia: true, leaveOut: leftOut, signal })
}

type Taken = Readonly<{ mark: ChatMark; media: Mirrored; tables: number; rows: number; events: number; databaseCopy?: DatabaseCopy }>

const takenIn = (at: Pick<At, 'resultOf'>): Taken => at.resultOf('data') as Taken

/** The stack is stopped: its database, and what its media and objects have become since. */
async function takeData(run: ImportRun, at: At): Promise<Taken> {
  const { objects } = stackIn(at)
  let media: Mirrored = { linked: 0, copied: 0 }
  let taken: TakenDatabase | undefined
  const files = async (signal: AbortSignal) => {
    media = await takeMedia(run, at, signal)
    if (objects === null) return
    const [, into] = await volumeOf(run, 'minio')
    await mirrorFiles({ sources: [{ from: objects, inside: '' }], into, isMedia: false, signal })
  }
  const database = async (signal: AbortSignal) => {
    taken = await takeDatabase(run, at, signal)
  }
  await runConcurrently([files, database], at.signal)
  const { rows, mark, databaseCopy } = taken as NonNullable<typeof taken>
  const counts = Object.values(rows)
  const sum = counts.reduce((total, count) => total + count, 0)
  return { mark, media, tables: counts.length, rows: sum, events: rows.events ?? 0, databaseCopy }
}

type TakenDatabase = ForeignContent & Readonly<{ databaseCopy: DatabaseCopy }>

async function takeDatabase(run: ImportRun, at: At, signal: AbortSignal): Promise<TakenDatabase> {
  const { database } = stackIn(at)
  const base = at.resultOf('copy') as Base
  if ('dumped' in base) return dumpAndLoad(run, { database, reason: base.dumped, isFilled: await isThere(run.dumpFolder), signal })
  try {
    return { ...(await takeCopy(run, database, { base, signal })), databaseCopy: copyOf(undefined) }
  } catch (error) {
    signal.throwIfAborted()
    const reason = reportFailedCopy(run, error as Error)
    return await dumpAndLoad(run, { database, reason, isFilled: true, signal })
  } finally {
    await endBackup(run)
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** `isFilled`: an earlier try may have filled the database of the box in part. */
type Dumping = Readonly<{ database: ForeignDatabase; reason: string; isFilled: boolean; signal: AbortSignal }>

async function dumpAndLoad(run: ImportRun, { database, reason, isFilled, signal }: Dumping): Promise<TakenDatabase> {
  const { deps, box, dumpFolder } = run
  if (isFilled) {
    await rm(dumpFolder, { recursive: true, force: true })
    await freshDatabase(run, signal)
  }
  await mkdir(dumpFolder, { recursive: true, mode: 0o700 })
  const dumped = await deps.servers.dumpForeignDatabase(database, { slug: box.slug, folder: dumpFolder }, signal)
  await deps.servers.loadDatabase(box, { folder: dumpFolder, expected: dumped.rows }, signal)
  return { ...dumped, databaseCopy: copyOf(reason) }
}

async function compare(run: ImportRun, at: At): Promise<number> {
  const { deps, box } = run
  const [expected, loaded] = [takenIn(at).mark, await deps.servers.chatMark(box, at.signal)]
  if (expected.position !== loaded.position || expected.lastEvents.join() !== loaded.lastEvents.join())
    throw problem('RESTORE_FAILED', `The last events of ${box.slug} differ from those of the stack`)
  const [, folder] = await volumeOf(run, 'synapse')
  return compareMedia(deps, { box, folder, sources: stackIn(at).media, signal: at.signal })
}

async function ownSecrets({ box }: ImportRun) {
  const secrets = await readBoxSecrets(box.project)
  if (!secrets) throw problem('CONFLICT', `The secrets of ${box.slug} were removed during the import. fix: start the import again`)
  return secrets
}

/** In quick succession, as before an update opens a box: users wait. */
function prove({ deps, context, payload, box }: ImportRun, signal: AbortSignal): Promise<ProbeResult> {
  const rule = quickRule(payload.probe)
  const servers = watchfulServers(deps.servers, deps.engine)
  return waitUntilStable({ ...deps, servers }, box, {
    rule,
    signal,
    onProbe: ({ reason }, good) =>
      context.progress({
        step: 'probe',
        detail: reason ?? `${good} of ${rule.consecutive} good`,
        percent: (100 * good) / rule.consecutive,
      }),
  })
}

/** Facts of the journal about a committed import. */
export function factsOf(at: Pick<At, 'resultOf'>, downtimeMs: number): ImportFacts {
  const { media, tables, rows, events, databaseCopy } = takenIn(at)
  return {
    ...{ tables, rows, events, downtimeMs },
    ...(databaseCopy ? { databaseCopy } : {}),
    linkedFiles: media.linked,
    copiedFiles: media.copied,
    comparedFiles: at.resultOf('compare') as number,
    addresses: stackIn(at).addresses.map(({ address, port }) => `${address === '' ? '*' : address}:${port}`),
  }
}

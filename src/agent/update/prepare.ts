import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Service, type UpdateTargets, VersionedService, whyNoHotCopy } from '../../core/boxes/index.ts'
import { plural, problem, sha256Hex } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { type DiskUse, prepareRepository, reserveDiskSpace, spaceForDump, volumeBytes, volumeKeys } from '../backup/index.ts'
import {
  assertNoOtherDatabases,
  assertNotScaled,
  assertOwnDatabaseFiles,
  assertRestorable,
  assertRunsAsWritten,
  assertSafeFolder,
  type ComposeFacts,
  databaseWarnings,
  migrationsFor,
  pinImage,
  pullImages,
  readCompose,
  reportVersions,
  resolvedFacts,
  servicesChangedBy,
} from '../boxes/index.ts'
import { assertDatabaseVolume, readComposeText } from '../change/index.ts'
import type { BoxServers, ContainerEngine, ContainerState, LocalBox } from '../ports/index.ts'
import { whyNoDumpServer } from './dump-server.ts'
import { type Before, isHot, isUpgrade, notUpgraded, targetText, type UpdateRun } from './update-run.ts'
import { upgradeSource } from './upgrade.ts'

/**
 * Checks, pulls and refuses everything it can while the box serves. After it the update needs only this host: the snapshot password and all
 * images are here, images are pinned, disk space is reserved, and compose would recreate only the planned services.
 */
export async function prepareUpdate(run: UpdateRun): Promise<Before> {
  const { box, deps, payload, context } = run
  await assertSafeFolder(box.project)
  const before = await observeBefore(run)
  const text = await readComposeText(box)
  await assertNotScaled(deps, box, text)
  await assertRestorable(deps, box, text)
  await assertNoOtherDatabases(deps, box)
  const migrations = await migrationsFor({ ...deps, ...context }, box, payload.targets.migrationsHead)
  await assertOwnDatabaseFiles(deps, box, before.database.volume)
  const facts = await deps.servers.databaseFacts(box)
  for (const detail of facts ? databaseWarnings(facts) : [])
    context.progress({ step: 'prefetch', detail: `warning: ${detail}`.slice(0, 500) })
  const upgrade = await upgradeSource(run, before, text)
  await prepareRepository(deps, context, await run.repository())
  await pinAndPull(run, before)
  const [from, to] = [before.containers.postgres, payload.targets.services.postgres]
  // A load builds all indexes again.
  if (from && to && !upgrade && before.planned.includes('postgres')) await assertSameLibc(deps, box, { from: from.image, to: to.image })
  const room = await reserveSpace(run, before)
  await assertNoOtherRecreation(run, before)
  const needs = { facts: facts?.hotCopy, databaseBytes: null, freeDiskBytes: null }
  const notHot = isHot(run) ? (whyNoHotCopy(needs) ?? (await whyNoDumpServer(run, before, text))) : undefined
  if (upgrade && notHot !== undefined) throw problem('PREFLIGHT_REFUSED', notUpgraded(run, notHot))
  return {
    ...{ ...before, migrations, room, background: facts?.backgroundUpdates ?? null },
    ...(facts ? { databaseBytes: facts.bytes } : {}),
    ...(facts?.systemId == null ? {} : { systemId: facts.systemId }),
    ...(upgrade ? { upgrade } : {}),
    ...(notHot === undefined ? {} : { notHot }),
  }
}

/** The box before anything is touched. Throws BOX_UNHEALTHY or COMPOSE_INVALID unless all four containers run what the compose file says. */
async function observeBefore(run: UpdateRun): Promise<Before> {
  const { box, deps, payload } = run
  const text = await readComposeText(box)
  const compose = readCompose(text, box.project.name)
  const containers = await deps.engine.containers(box.project)
  const found = { box, compose, containers }
  const former = Service.options.map((service) => [service, formerContainer(found, service)] as const)
  await assertRunsAsWritten(deps.engine, box, 'updating')
  const planned = changedServices(payload.targets, Object.fromEntries(former))
  const facts = await resolvedFacts(deps, box, text)
  const database = assertDatabaseVolume(run, facts)
  return {
    containers: Object.fromEntries(former),
    planned,
    composeSha256: sha256Hex(text),
    targetSha256: sha256Hex(targetText(run, text, { planned, database })),
    database,
    volumeKeys: volumeKeys(facts.volumes),
    installed: (await reportVersions(deps, box)).installed,
  }
}

type Found = Readonly<{ box: LocalBox; compose: ComposeFacts; containers: readonly ContainerState[] }>

function formerContainer({ box, compose, containers }: Found, service: Service) {
  const container = containers.find((candidate) => candidate.service === service)
  if (container?.state !== 'running')
    throw problem('BOX_UNHEALTHY', `${service} of ${box.slug} does not run. fix: repair the box before updating it`)
  const written = compose.services[service]?.image
  if (written !== container.image)
    throw problem(
      'COMPOSE_INVALID',
      `${box.project.composeFile} says ${written} for ${service}, but ${container.image} runs. fix: make the file and the container agree`,
    )
  return { id: container.id, image: container.image, digest: container.digest }
}

// A tag that only moved cannot be rolled back: the compose file would name the new image twice.
function changedServices(targets: UpdateTargets, former: Before['containers']): VersionedService[] {
  return VersionedService.options.filter((service) => {
    const target = targets.services[service]
    const now = former[service]
    if (!target || (target.image === now?.image && (target.digest ?? now.digest) === now.digest)) return false
    if (target.image !== now?.image) return true
    throw problem(
      'DIGEST_MISMATCH',
      `${target.image} would change to ${target.digest} under the same tag, which cannot be rolled back. fix: use a new tag`,
    )
  })
}

async function pinAndPull({ deps, payload, box, signal, context }: UpdateRun, { containers, planned }: Before): Promise<void> {
  for (const service of VersionedService.options) {
    const former = containers[service]
    if (former) await pinImage(deps, { image: former.image, digest: former.digest ?? undefined, signal }, box.slug)
  }
  const images = Object.fromEntries(planned.map((service) => [service, payload.targets.services[service]]))
  await pullImages(deps, { images, pin: box.slug, step: 'prefetch', context, signal })
}

/** Collations that sort by bytes, which no library changes. */
const byBytes = new Set(['C', 'POSIX'])

type LibcDeps = Readonly<{ engine: ContainerEngine; servers: BoxServers }>

/**
 * Indexes of any other collation depend on the C library that wrote them: under another library queries silently miss rows. Both images must be
 * on this host. Throws PREFLIGHT_REFUSED.
 */
export async function assertSameLibc(
  { engine, servers }: LibcDeps,
  box: LocalBox,
  { from, to }: Readonly<{ from: string; to: string }>,
): Promise<void> {
  const collation = (await servers.databaseFacts(box))?.collation
  if (collation && byBytes.has(collation)) return
  const [former, target] = await Promise.all([engine.imageLibc(from), engine.imageLibc(to)])
  if (former !== null && former === target) return
  throw problem(
    'PREFLIGHT_REFUSED',
    `the database of ${box.slug} uses the collation ${collation ?? 'unknown'}, and its images have different C libraries (${from}: ${former ?? 'unknown'}, ${to}: ${target ?? 'unknown'}), which breaks its indexes. fix: use an image with the same library, or dump the database and load it with collation C`,
  )
}

/** At most one dump, and a second database beside the first; for an upgrade also a dump of its own and the database of the new version. */
async function reserveSpace(run: UpdateRun, before: Before): Promise<DiskUse[]> {
  const { deps, box, context, repository } = run
  const bytes = await volumeBytes(deps, [before.database.volume])
  const second = { path: (await deps.engine.volumesFolder()) ?? deps.workFolder, bytes: (isUpgrade(run) ? 3 : 1) * bytes }
  const room = [...spaceForDump(deps.workFolder, await repository(), bytes), second]
  await reserveDiskSpace(deps.disk, { commandId: context.commandId, what: `updating ${box.slug}` }, room)
  return room
}

/** Compares the target file with the containers. Throws PREFLIGHT_REFUSED if an unplanned service would change. */
async function assertNoOtherRecreation({ deps, box, ...run }: UpdateRun, before: Before): Promise<void> {
  const text = targetText({ deps, box, ...run }, await readComposeText(box), before)
  const candidate = join(dirname(box.project.composeFile), '.compose.candidate.yaml')
  await writeFileAtomic(candidate, text)
  try {
    const changed = await servicesChangedBy(deps.engine, box.project, candidate)
    const hit = [...new Set(changed)].filter((service) => !isPlanned(before, service))
    if (hit.length === 0) return
    const names = hit.join(', ')
    throw problem(
      'PREFLIGHT_REFUSED',
      `compose would also recreate ${plural(hit.length, 'service')} outside the plan: ${names}; the compose file was changed by hand. fix: revert that change, or apply it to the box first`,
    )
  } finally {
    await rm(candidate, { force: true })
  }
}

const isPlanned = ({ planned }: Before, service: string): boolean => (planned as readonly string[]).includes(service)

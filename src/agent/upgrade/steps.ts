import { dataMajorFinding, formerFindings, majorOfImage, targetFindings } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { reserveDiskSpace } from '../backup/index.ts'
import { pullImages, readPlainFile } from '../boxes/index.ts'
import {
  type Environment,
  environmentOf,
  isRefused,
  startNext,
  startServer,
  type Transferred,
  timed,
  transfer,
} from '../dump-load/index.ts'
import type { ContainerState, LocalBox } from '../ports/index.ts'
import { copyRunningDatabase, dataFolderIn, defaultBytesPerSecond, linkToOutside, paceOf } from '../update/index.ts'
import type { UpgradeRun } from './upgrade-run.ts'

/** All that a rehearsal found, also one that failed. */
export type Found = Transferred & { from?: string; to?: string; digest?: string; databaseBytes?: number }

/** Stops at the first part with a refusal; what is cheap and names a reason comes first. */
export async function rehearseSteps(run: UpgradeRun, found: Found): Promise<void> {
  const { deps, context, payload, pin, signal, box } = run
  const begin = (step: string) => context.progress({ step })
  begin('inspect')
  const source = await inspect(run, found)
  if (!source) return
  const { facts } = source
  begin('pull')
  const images = { postgres: { image: payload.image, digest: payload.digest } }
  const digests = await pullImages(deps, { images, pin, step: 'pull', context, signal })
  found.digest = digests[payload.image]
  begin('cluster')
  const next = await startEmpty(run, facts.superuser)
  const target = await deps.servers.upgrades.target(run.next, signal)
  found.to = target.version
  found.findings.push(...targetFindings(box.slug, facts, target))
  if (isRefused(found)) return
  begin('copy')
  found.times.copyMs = await timed(deps, () => copy(run, source))
  begin('recover')
  found.times.recoverMs = await timed(deps, () => startFormer(run, source, next))
  await transfer({ deps, slug: box.slug, signal, begin }, { former: run.former, next: run.next }, found)
}

/** Only volumes can be read by an agent, and only one that compose named. */
const volumeKey = 'data'
const volumeOf = ({ project }: LocalBox): string => `${project.name}-${volumeKey}`

async function startEmpty(run: UpgradeRun, superuser: string): Promise<ContainerState> {
  const { deps, payload, next } = run
  await deps.engine.createVolume(next.project, volumeKey, volumeOf(next))
  return startNext(run, next, { image: payload.image, network: 'none', volume: volumeOf(next), inside: 'data', superuser })
}

/** It archives nothing and waits for no standby. The new server reaches it by the loopback that both have. */
const startFormer = (run: UpgradeRun, { image, mount, environment }: Source, next: ContainerState): Promise<ContainerState> =>
  startServer(run, run.former, {
    ...{ image, environment, volume: volumeOf(run.former), target: mount.target },
    network: `container:${next.id}`,
    command: ['postgres', '-c', 'archive_mode=off', '-c', 'synchronous_standby_names=', '-c', 'port=5432'],
  })

/** Variables by which the image finds its data, and the agent its role and database. None is a secret. */
const variables = ['PGDATA', 'POSTGRES_USER', 'POSTGRES_DB', 'TENANTRY_DATABASE'] as const

type Source = Readonly<{
  facts: Awaited<ReturnType<UpgradeRun['deps']['servers']['upgrades']['facts']>>
  image: string
  environment: Environment
  mount: ContainerState['mounts'][number]
  systemId: string
  root: string
}>

/** The running database, and what speaks against its upgrade; undefined if anything does. */
async function inspect({ deps, box, signal }: UpgradeRun, found: Found): Promise<Source | undefined> {
  const { engine, servers } = deps
  const container = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')
  const mount = container?.mounts.find(({ kind }) => kind === 'volume')
  const root = mount && (await engine.volumePath(mount.source))
  if (!container || !mount || root === undefined)
    throw problem('CONFLICT', `the database of ${box.slug} has no named volume on this host, so it cannot be copied`)
  const known = await servers.databaseFacts(box)
  if (!known) {
    const other = await otherMajor(root, container.image)
    if (other === undefined) throw problem('BOX_UNHEALTHY', `the database of ${box.slug} does not accept connections`)
    found.findings.push(dataMajorFinding(box.slug, other))
    return undefined
  }
  const { hotCopy, systemId, alteredSettings } = known
  const freeDiskBytes = await deps.disk.freeBytes(root)
  const facts = await servers.upgrades.facts(box, signal)
  found.from = facts.version
  found.databaseBytes = facts.bytes
  found.findings.push(...formerFindings(box.slug, facts, { hotCopy, freeDiskBytes, alteredSettings }))
  if (systemId === null) throw problem('CONFLICT', `the identity of the database of ${box.slug} is unknown`)
  if (isRefused(found)) return undefined
  return { facts, image: container.image, environment: await environmentOf(engine, container, variables), mount, systemId, root }
}

/** The major version of the files of a server that does not run, where it is not that of its image. */
async function otherMajor(root: string, image: string): Promise<{ files: string; image: string } | undefined> {
  const texts = await Promise.all(['PG_VERSION', 'data/PG_VERSION'].map((path) => readPlainFile(root, path).catch(() => undefined)))
  const files = texts.find((text) => text !== undefined)?.trim()
  const major = majorOfImage(image)
  return files === undefined || major === undefined || files === major ? undefined : { files, image }
}

/** The copy, the dump and the new cluster are at most as large as the database each. */
async function copy(run: UpgradeRun, { mount, systemId, root }: Source): Promise<void> {
  const { deps, box, context, former, signal } = run
  const { commandId } = context
  const bytes = 3 * (await deps.disk.usedBytes(root))
  await reserveDiskSpace(deps.disk, { commandId, what: `the rehearsal of ${box.slug}` }, [{ path: root, bytes }])
  const outside = await linkToOutside(root)
  if (outside !== undefined) throw problem('CONFLICT', `${outside} in ${mount.source} is a link out of the volume`)
  const data = await dataFolderIn(root, systemId)
  await deps.engine.createVolume(former.project, volumeKey, volumeOf(former))
  const into = await deps.engine.volumePath(volumeOf(former))
  if (into === undefined) throw problem('CONFLICT', `the folder of ${volumeOf(former)} is not accessible`)
  const backup = await deps.servers.beginBackup(box, `tenantry_upgrade_${sha256Hex(commandId).slice(0, 12)}`, signal)
  try {
    const pace = paceOf(deps, { commandId, bytesPerSecond: defaultBytesPerSecond, folders: [root], signal })
    await copyRunningDatabase({ from: root, into, data, backup }, { pace, signal })
  } finally {
    await backup.end()
  }
}

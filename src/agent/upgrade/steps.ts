import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  contentFindings,
  dataMajorFinding,
  formerFindings,
  parseImage,
  targetFindings,
  type UpgradeFinding,
  type UpgradeTimes,
} from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { reserveDiskSpace } from '../backup/index.ts'
import { pullImages } from '../boxes/index.ts'
import type { ContainerState } from '../ports/index.ts'
import { copyRunningDatabase, dataFolderIn, defaultBytesPerSecond, linkToOutside, paceOf } from '../update/index.ts'
import { environmentOf, startFormer, startNext, volumeKey, volumeOf } from './servers.ts'
import type { UpgradeRun } from './upgrade-run.ts'

/** All that a rehearsal found, also one that failed. */
export type Found = {
  findings: UpgradeFinding[]
  times: { -readonly [Part in keyof UpgradeTimes]: UpgradeTimes[Part] }
  from?: string
  to?: string
  digest?: string
  databaseBytes?: number
  dumpBytes?: number
  content?: Readonly<{ bytes: number; tables: number; rows: number }>
}

const isRefused = ({ findings }: Found): boolean => findings.some(({ severity }) => severity === 'refuse')

/** As many as the real upgrade would use, and no more than leave the host to its users. */
const jobs = Math.max(1, Math.min(4, availableParallelism() - 1))

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
  const next = await startNext(run, facts.superuser)
  const target = await deps.servers.upgrades.target(run.next, signal)
  found.to = target.version
  found.findings.push(...targetFindings(box.slug, facts, target))
  if (isRefused(found)) return
  begin('copy')
  found.times.copyMs = await timed(run, () => copy(run, source))
  begin('recover')
  const { image, mount, environment } = source
  found.times.recoverMs = await timed(run, () => startFormer(run, { image, environment, target: mount.target, next }))
  await transfer(run, found, begin)
}

async function transfer(run: UpgradeRun, found: Found, begin: (step: string) => void): Promise<void> {
  const { deps, box, former, next, signal } = run
  const { upgrades } = deps.servers
  const servers = { former, next }
  begin('next-dump')
  found.times.dumpMs = await timed(run, async () => {
    found.dumpBytes = await failing('dump', () => upgrades.dump(servers, jobs, signal))
  })
  begin('next-load')
  found.times.loadMs = await timed(run, () => failing('load', () => upgrades.load(servers, jobs, signal)))
  begin('analyze')
  found.times.analyzeMs = await timed(run, () => failing('ANALYZE', () => upgrades.analyze(servers, jobs, signal)))
  begin('contents')
  found.times.compareMs = await timed(run, async () => {
    const [before, after] = await Promise.all([upgrades.content(former, former, signal), upgrades.content(next, former, signal)])
    found.findings.push(...contentFindings(box.slug, before, after))
    const counts = Object.values(after.rows)
    found.content = { bytes: after.bytes, tables: counts.length, rows: counts.reduce((sum, count) => sum + count, 0) }
  })
}

async function timed({ deps: { clock } }: UpgradeRun, work: () => Promise<unknown>): Promise<number> {
  const begunMs = clock.monotonicMs()
  await work()
  return Math.round(clock.monotonicMs() - begunMs)
}

/** Names the part, since its message is that of a program. */
async function failing<Value>(part: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as ReturnType<typeof problem>
    throw code === 'RESTORE_FAILED' || code === 'SNAPSHOT_FAILED'
      ? problem(code, `the ${part} with the new PostgreSQL failed: ${message}`, { cause: error })
      : error
  }
}

type Source = Readonly<{
  facts: Awaited<ReturnType<UpgradeRun['deps']['servers']['upgrades']['facts']>>
  image: string
  environment: Readonly<Record<string, string>>
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
  const { hotCopy, systemId } = known
  const freeDiskBytes = await deps.disk.freeBytes(root)
  const facts = await servers.upgrades.facts(box, signal)
  found.from = facts.version
  found.databaseBytes = facts.bytes
  found.findings.push(...formerFindings(box.slug, facts, { hotCopy, freeDiskBytes }))
  if (systemId === null) throw problem('CONFLICT', `the identity of the database of ${box.slug} is unknown`)
  if (isRefused(found)) return undefined
  return { facts, image: container.image, environment: await environmentOf(engine, container), mount, systemId, root }
}

/** The major version of the files of a server that does not run, where it is not that of its image. */
async function otherMajor(root: string, image: string): Promise<{ files: string; image: string } | undefined> {
  const texts = await Promise.all(['.', 'data'].map((folder) => readIfThere(join(root, folder, 'PG_VERSION')).catch(() => undefined)))
  const files = texts.find((text) => text !== undefined)?.trim()
  const major = /^v?(\d+)/.exec(parseImage(image).tag)?.[1]
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
    const pace = paceOf(deps, { commandId, bytesPerSecond: defaultBytesPerSecond, folder: root, signal })
    await copyRunningDatabase({ from: root, into, data, backup }, { pace, signal })
  } finally {
    await backup.end()
  }
}

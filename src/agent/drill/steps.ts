import { rm } from 'node:fs/promises'
import type { ProbeResult } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  type DiskUse,
  fetchSnapshot,
  type Reserved,
  reserveDiskSpace,
  type SpaceOwner,
  spaceForSnapshot,
  volumeBytes,
} from '../backup/index.ts'
import { waitForService, waitUntilStable, writeProbeAccount } from '../boxes/index.ts'
import type { StoredSnapshot } from '../ports/index.ts'
import { fetchedSnapshot, fillProject, pullFormerImages, startProject, watchfulServers } from '../rebuild/index.ts'
import type { StepContext } from '../saga/index.ts'
import { compareMedia } from './compare-media.ts'
import type { DrillActs, DrillRun } from './drill-run.ts'
import { drilledServices, registrationSecretOf } from './isolated-copy.ts'
import { renderCopy } from './render-copy.ts'

/** One good probe is enough; the timeout is for a server that starts. */
const rule = { consecutive: 1, spacingMs: 1_000, timeoutMs: 15 * 60_000 }

export const drillActs = (run: DrillRun): DrillActs => ({
  fetch: async ({ signal }) => {
    const { snapshotId, snapshotSha256: manifestSha256 } = run.payload
    const repository = await run.repository()
    const admit = async (snapshot: StoredSnapshot) => void (await reserveSpace(run, snapshot, false))
    const fetched = await fetchSnapshot(run.deps, { repository, snapshotId, manifestSha256, folder: run.folder, admit, signal })
    return { room: await reserveSpace(run, fetched.snapshot, true) } satisfies Reserved
  },
  images: async ({ signal }) => {
    const { manifest } = await fetchedSnapshot(run.deps, { ...run, signal })
    await pullFormerImages(run.deps, manifest, { services: drilledServices, pin: run.copy.project.name, context: run.context, signal })
  },
  files: async ({ signal }) => {
    await renderCopy(run, await fetchedSnapshot(run.deps, { ...run, signal }))
  },
  fill: async ({ signal }) => {
    const fetched = await fetchedSnapshot(run.deps, { ...run, signal })
    const repository = await run.repository()
    await fillProject(run.deps, run.copy, { repository, snapshotId: run.payload.snapshotId, fetched, signal })
    const counts = Object.values(fetched.manifest.rows)
    return { tables: counts.length, rows: counts.reduce((sum, count) => sum + count, 0) }
  },
  media: async ({ signal }) => {
    const { manifest } = await fetchedSnapshot(run.deps, { ...run, signal })
    return compareMedia(run, { manifest, signal })
  },
  start: ({ signal }) => startProject({ ...run.deps, signal }, run.copy, drilledServices),
  prove: ({ signal, note }) => prove(run, signal, note),
  clear: () => clear(run),
})

export const holderOf = ({ context, original }: Pick<DrillRun, 'context' | 'original'>): SpaceOwner => ({
  commandId: context.commandId,
  what: `a drill of ${original.slug}`,
})

/** Reserves space for the copy beside the original, and for the fetched snapshot. */
async function reserveSpace(run: DrillRun, snapshot: StoredSnapshot, fetched: boolean): Promise<readonly DiskUse[]> {
  const { deps, original, folder } = run
  const containers = await deps.engine.containers(original.project)
  const bytesOf = (services: readonly string[]) =>
    volumeBytes(
      deps,
      containers.filter(({ service }) => services.includes(service)).flatMap(({ volumes }) => volumes),
    )
  const now = { databaseBytes: await bytesOf(['postgres']), dataBytes: await bytesOf(['synapse', 'minio']) }
  const space = await spaceForSnapshot(deps, { snapshot, folder, fetched, now })
  await reserveDiskSpace(deps.disk, holderOf(run), space)
  return space
}

async function prove(run: DrillRun, signal: AbortSignal, note: StepContext<'prove'>['note']): Promise<ProbeResult> {
  const { copy } = run
  const deps = { ...run.deps, servers: watchfulServers(run.deps.servers, run.deps.engine) }
  const { servers } = deps
  await waitForService({ ...deps, signal }, copy, {
    service: 'synapse',
    isUp: async () => (await servers.serverVersions(copy)).synapse !== undefined,
  })
  const account = await servers.createTemporaryAccount(copy, await registrationSecretOf(copy.project.folder), signal)
  await writeProbeAccount(copy.project, account)
  let last: ProbeResult | undefined
  const record = (probe: ProbeResult) => {
    last = probe
  }
  try {
    return await waitUntilStable(deps, copy, { rule, signal, onProbe: record })
  } catch (error) {
    if (last) await note({ probe: last })
    throw error
  }
}

/** Checks by name that nothing is left, because a slow engine may still make something. */
async function clear({ deps, copy, folder }: DrillRun): Promise<void> {
  await deps.engine.removeProject(copy.project.name)
  if ((await deps.engine.projects(copy.project.name)).length > 0)
    throw problem('CONFLICT', `containers, networks or volumes of ${copy.project.name} are left; the agent tries again at its next start`)
  await deps.engine.unpin(copy.project.name)
  await rm(folder, { recursive: true, force: true })
}

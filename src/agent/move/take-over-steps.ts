import { rm } from 'node:fs/promises'
import { Service, type TakeOverStep } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type DiskUse, type FullManifest, fetchSnapshot, type Reserved } from '../backup/index.ts'
import { beginSoftLogout, readFence, removeFenceFile, waitForService, waitUntilStable } from '../boxes/index.ts'
import type { LocalBox, StoredSnapshot, StreamPositions } from '../ports/index.ts'
import { fetchedSnapshot, fillProject, pullFormerImages, startProject, watchfulServers } from '../rebuild/index.ts'
import type { SagaActs, StepContext } from '../saga/index.ts'
import { closeBox, stopServices } from './fence-and-stop.ts'
import { portablePart, renderMovedBox } from './render-moved-box.ts'
import { reserveSpaceFor, type TakeOverRun } from './take-over-run.ts'

export const takeOverActs = (run: TakeOverRun): SagaActs<TakeOverStep> => {
  const { deps, context, payload, folder } = run
  const { snapshotId, snapshotSha256 } = payload
  return {
    fetch: async ({ signal }) => {
      const repository = await run.repository()
      let room: readonly DiskUse[] = []
      const admit = async (snapshot: StoredSnapshot) => {
        room = await reserveSpaceFor(run, snapshot)
      }
      const fetched = await fetchSnapshot(deps, { repository, snapshotId, manifestSha256: snapshotSha256, folder, admit, signal })
      const { slug, boxId, box } = fetched.manifest
      if (slug !== payload.slug || boxId !== payload.boxId)
        throw problem('RESTORE_FAILED', `the snapshot ${snapshotId} is of the box ${slug} (${boxId}) and not of ${payload.slug}`)
      if (!box.managed)
        throw problem('BOX_NOT_MANAGED', `the snapshot ${snapshotId} is of a box that is only observed, which cannot be moved`)
      await portablePart(deps, payload, fetched)
      return { room } satisfies Reserved
    },
    images: async ({ signal }) => {
      const { manifest } = await fetchedSnapshot(deps, { ...run, signal })
      await pullFormerImages(deps, manifest, { services: Service.options, pin: payload.slug, context, signal })
    },
    files: async ({ signal }) => {
      await renderMovedBox(run, await fetchedSnapshot(deps, { ...run, signal }))
      // Before anything of it runs: until it is proven and recorded, no client may reach it.
      await closeBox(deps, run.box, context.commandId)
    },
    fill: ({ signal }) => fill(run, signal),
    start: async ({ signal }) => {
      await run.confirm('once', signal)
      const box = await boxAsFetched(run, signal)
      await startProject({ ...deps, signal }, box, Service.options)
      await waitForService({ ...deps, signal }, box, {
        service: 'synapse',
        isUp: async () => (await deps.servers.serverVersions(box)).synapse !== undefined,
      })
    },
    probe: (at) => prove(run, at),
    keep: async ({ signal }) => {
      // Reading the manifest may have to fetch it again, which takes time.
      await run.confirm('once', signal)
      const box = await boxAsFetched(run, signal)
      // The box may have been given back to its old host while this agent was away.
      await run.confirm('again', signal)
      await deps.boxes.put(box)
    },
    open: async ({ signal }) => {
      await run.confirm('once', signal)
      // The old host may have served after the snapshot. Best effort: the box is proven, and two hosts must never serve it.
      await beginSoftLogout(deps, run.box).catch((error: Error) => context.progress({ step: 'open', detail: error.message }))
      if ((await readFence(run.box.project))?.holder === context.commandId) await removeFenceFile(run.box.project)
    },
    tidy: async () => {
      await rm(folder, { recursive: true, force: true })
      await deps.engine.unpin(payload.slug)
    },
    clear: () => removeRebuilt(run),
  }
}

/** The box with its snapshot's migrations head. */
const boxOf = ({ box }: TakeOverRun, { migrationsHead }: FullManifest): LocalBox => ({ ...box, migrationsHead })

const boxAsFetched = async (run: TakeOverRun, signal: AbortSignal): Promise<LocalBox> =>
  boxOf(run, (await fetchedSnapshot(run.deps, { ...run, signal })).manifest)

async function fill(run: TakeOverRun, signal: AbortSignal): Promise<void> {
  const { deps, payload } = run
  const fetched = await fetchedSnapshot(deps, { ...run, signal })
  const [box, repository] = [boxOf(run, fetched.manifest), await run.repository()]
  await fillProject(deps, box, { repository, snapshotId: payload.snapshotId, fetched, signal })
  // A host that served after the snapshot has issued positions beyond it, and a snapshot of tier `final` may be of an earlier move. A stream
  // that begins far beyond harms no client.
  await deps.servers.raiseStreams(box, farBeyond(await deps.servers.streamPositions(box, signal)), signal)
}

/** More than any box writes between two snapshots. */
const strideBeyond = 10_000_000

function farBeyond({ sequences, writers }: StreamPositions): StreamPositions {
  return {
    sequences: Object.fromEntries(Object.entries(sequences).map(([name, position]) => [name, position + strideBeyond])),
    writers: writers.map((writer) => ({ ...writer, position: writer.position + strideBeyond })),
  }
}

async function prove(run: TakeOverRun, { signal, note }: StepContext<TakeOverStep>): Promise<void> {
  const { deps, payload, context } = run
  const servers = watchfulServers(deps.servers, deps.engine)
  const records: Promise<void>[] = []
  await waitUntilStable({ ...deps, servers }, await boxAsFetched(run, signal), {
    rule: payload.probe,
    signal,
    onProbe: (probe, good) => {
      const { consecutive } = payload.probe
      context.progress({ step: 'probe', detail: probe.reason ?? `${good} of ${consecutive} good`, percent: (100 * good) / consecutive })
      if (probe.verdict === 'ok') records.push(note({ probe }))
    },
  }).finally(() => Promise.all(records))
}

type Rebuilt = Pick<TakeOverRun, 'payload' | 'box' | 'folder'> & Readonly<{ deps: Pick<TakeOverRun['deps'], 'engine' | 'boxes'> }>

/** Removes every container, volume, file, pin and record of the box from this host, whatever step failed. */
export async function removeRebuilt({ deps, payload, box, folder }: Rebuilt): Promise<void> {
  // First, so that nothing of it runs beside the box that its old host takes back, even if the rest fails.
  await stopServices(deps, box, ['synapse', 'minio', 'postgres', 'edge'])
  await deps.engine.removeProject(box.project.name)
  await deps.engine.unpin(payload.slug)
  if ((await deps.boxes.find(payload.slug))?.boxId === payload.boxId) await deps.boxes.remove(payload.slug)
  await rm(box.project.folder, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

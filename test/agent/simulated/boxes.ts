import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import { type SimulatedHostOptions, seededRandom, simulatedHost } from '../../../src/agent/simulated/index.ts'
import { type ManualClock, manualClock } from '../../../src/core/kit/index.ts'

export const images = {
  edge: 'registry.test/tenantry/edge:1.22.1',
  synapse: 'registry.test/tenantry/synapse:v1.157.1',
  postgres: 'registry.test/tenantry/postgres:15.14',
  minio: 'registry.test/tenantry/minio:RELEASE.2025-09-07T16-13-09Z',
}

/** A simulated host in its own folder, on a clock that does not move. */
export async function aHost(options: Partial<SimulatedHostOptions> = {}) {
  const clock = manualClock()
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-sim-'))
  return { clock, folder, ...simulatedHost({ clock, random: seededRandom('a host'), folder, ...options }) }
}

export const composeText = (slug: string, service: Partial<typeof images> = {}): string => {
  const image = { ...images, ...service }
  return `# ${slug}
services:
  edge: { image: "${image.edge}" }
  synapse: { image: "${image.synapse}", volumes: [ "media:/media" ] }
  postgres: { image: "${image.postgres}", volumes: [ "postgres:/var/lib/postgresql/data" ] }
  minio: { image: "${image.minio}", volumes: [ "objects:/data" ] }
volumes:
  postgres: { name: box-${slug}-postgres }
  media: { name: box-${slug}-media }
  objects: { name: box-${slug}-objects }
`
}

type Host = Awaited<ReturnType<typeof aHost>>

/** A box whose files lie on disk; nothing of it runs yet. */
export async function aBox(host: Pick<Host, 'folder'>, slug = 'oak', change: Partial<LocalBox> = {}): Promise<LocalBox> {
  const folder = join(host.folder, 'boxes', slug)
  await mkdir(join(folder, 'edge', 'fence'), { recursive: true })
  const composeFile = join(folder, 'compose.yaml')
  await writeFile(composeFile, composeText(slug))
  return {
    slug,
    boxId: `box_${slug}`,
    ownershipEpoch: 1,
    managed: true,
    chatDomain: `${slug}.test`,
    project: { name: `box-${slug}`, folder, composeFile },
    ports: { public: 8001, platform: 8002, probe: 8003 },
    migrationsHead: '0000',
    ...change,
  }
}

/** A box that runs and answers. */
export async function aRunningBox(host: Host, slug = 'oak'): Promise<LocalBox> {
  const box = await aBox(host, slug)
  await moving(host.clock, async () => {
    for (const image of Object.values(images)) await host.engine.pull(image, {})
    await host.engine.up(box.project, ['postgres', 'minio', 'synapse', 'edge'])
  })
  await host.clock.advance(60_000)
  await moving(host.clock, () => host.servers.probe(box))
  await host.clock.advance(120_000)
  return box
}

/** Lets time pass until the work is done: for work that sleeps on the clock in between. */
export async function moving<Result>(clock: ManualClock, work: () => Promise<Result>, stepMs = 1_000): Promise<Result> {
  let done = false
  const result = work().finally(() => {
    done = true
  })
  result.catch(() => undefined)
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve))
    // Only when somebody waits for it: time does not pass while a file is read.
    if (clock.sleepers() > 0) await clock.advance(stepMs)
  }
  return result
}

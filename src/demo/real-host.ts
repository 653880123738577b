import { join } from 'node:path'
import { dockerEngine } from '../agent/docker/index.ts'
import type { ContainerEngine } from '../agent/ports/index.ts'
import { type Clock, problem } from '../core/kit/index.ts'
import { readIfThere, systemClock } from '../node/index.ts'
import { agentProgram } from './agent-program.ts'
import { after, before, type Fleet, manifestOf } from './fleet.ts'
import { type DemoSetup, freePort } from './stage.ts'

type Image = Readonly<{ repository: string; tag: string; ref: string }>
type ImageKey = 'edge' | 'postgres' | 'minio' | `synapse-${typeof before}` | `synapse-${typeof after}` | 'synapse-dies'

/** The description that `test/testbed/up.sh` writes into its cache. */
export type Testbed = Readonly<{
  dockerHost: string
  dockerConfig: string
  docker: string
  restic: string
  registry: string
  images: Readonly<Record<ImageKey, Image>>
}>

const host = 'amsel'
const unlucky = 'realschule-am-see'
const bringImages =
  'fix: run `sudo test/testbed/up.sh` in a clone of the repository (Debian 12; it starts a Docker engine and builds the images)'

/** Two boxes on a real engine: the canary gets a good image, the other one an image that exits at its start. */
export function realFleet({ images }: Testbed, firstPort: number): Fleet {
  const named = {
    edge: images.edge.ref,
    synapse: `${images['synapse-dies'].repository}:v{version}`,
    postgres: `${images.postgres.repository}:{version}`,
    minio: `${images.minio.repository}:{version}`,
  }
  const others = { postgres: images.postgres.tag, minio: images.minio.tag }
  return {
    simulated: false,
    hosts: [host],
    boxes: [
      { slug: 'kita-regenbogen', name: 'Kita Regenbogen', plan: 'light', host, canary: true },
      { slug: unlucky, name: 'Realschule Am See', plan: 'pro', host, canary: false },
    ],
    unlucky,
    before: manifestOf(named, others, { synapse: before }),
    after: manifestOf(named, others, { synapse: after, pro: images['synapse-dies'].tag.replace(/^v/, '') }),
    env: {
      TENANTRY_PROBE_SPACING_MS: '1000',
      TENANTRY_PROBE_TIMEOUT_MS: '120000',
      TENANTRY_ROLLOUTS_ASSUMED_UPDATE_MS: '30000',
      TENANTRY_ROLLOUTS_POLL_MS: '500',
      TENANTRY_BOXES_FIRST_PORT: String(firstPort),
    },
  }
}

/** Reads the test bed and checks its engine, images and restic. Throws DOCKER_UNAVAILABLE, IMAGE_NOT_FOUND. */
export async function openRealHost(port: number): Promise<DemoSetup> {
  const testbed = await readTestbed(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed')
  const engine = dockerEngine(testbed)
  await assertUsable(engine, testbed)
  const projectPrefix = `tenantry-demo-${port}-`
  const removeBoxes = () => removeProjects(engine, projectPrefix)
  await removeBoxes() // of a demo that was killed
  return { fleet: realFleet(testbed, await freePort(18_000)), startAgent: agentProgram(testbed, projectPrefix), removeBoxes }
}

/** Tries again for a while: an interrupted engine may still create containers. Throws DOCKER_UNAVAILABLE. */
export async function removeProjects(
  engine: Pick<ContainerEngine, 'projects' | 'removeProject'>,
  prefix: string,
  clock: Pick<Clock, 'sleep'> = systemClock,
): Promise<void> {
  for (let left = 20; ; left--) {
    try {
      const projects = await engine.projects(prefix)
      if (projects.length === 0) return
      for (const project of projects) await engine.removeProject(project)
    } catch (error) {
      if (left === 0) throw error
    }
    await clock.sleep(500)
  }
}

/** Throws IMAGE_NOT_FOUND without a test bed. */
export async function readTestbed(cache: string): Promise<Testbed> {
  const text = await readIfThere(join(cache, 'testbed.json'))
  if (text === undefined) throw problem('IMAGE_NOT_FOUND', `The images of the demo are missing: no test bed in ${cache}. ${bringImages}`)
  return JSON.parse(text) as Testbed
}

/** Throws DOCKER_UNAVAILABLE, or IMAGE_NOT_FOUND with the images that neither the engine nor the registry has. */
export async function assertUsable(
  engine: Pick<ContainerEngine, 'info' | 'localDigest' | 'resolve'>,
  { dockerHost, images }: Testbed,
): Promise<void> {
  await engine.info().catch((error: Error) => {
    throw problem('DOCKER_UNAVAILABLE', `No Docker engine with compose at ${dockerHost} (${error.message}). ${bringImages}`)
  })
  const missing: string[] = []
  for (const { ref } of imagesOf(images)) {
    const found = (await engine.localDigest(ref)) ?? (await engine.resolve(ref, {}).catch(() => undefined))
    if (!found) missing.push(ref)
  }
  if (missing.length > 0) throw problem('IMAGE_NOT_FOUND', `Images of the demo are missing: ${missing.join(', ')}. ${bringImages}`)
}

const imagesOf = (images: Testbed['images']): Image[] =>
  (['edge', 'postgres', 'minio', `synapse-${before}`, `synapse-${after}`, 'synapse-dies'] as const).map((key) => images[key])

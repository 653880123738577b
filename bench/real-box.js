// A box of the test bed as the agent makes them: real engine, edge, Synapse, PostgreSQL and object store.
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { boxServers } from '../dist/agent/box-servers/index.js'
import { readBoxSecrets } from '../dist/agent/boxes/box-secrets.js'
import { composeRecord, localBoxes, portInUse, provision } from '../dist/agent/boxes/index.js'
import { dockerEngine } from '../dist/agent/docker/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'

const testbedFile = join(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed', 'testbed.json')

/** Undefined where there is no test bed. */
export const readTestbed = () => (existsSync(testbedFile) ? JSON.parse(readFileSync(testbedFile, 'utf8')) : undefined)

/** Makes a box. Answers the secrets it was made with and its platform listener; `remove` leaves nothing of it. */
export async function makeBox(
  { images, dockerHost, dockerConfig, docker, registry },
  { slug, chatDomain, ports, synapse = 'synapse-1.163.2' },
) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tenantry-bench-')))
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const boxes = localBoxes(join(folder, 'state'))
  const compose = composeRecord({ stateFolder: join(folder, 'state'), boxes })
  const clock = systemClock
  const servers = boxServers({ engine, clock, random: systemRandom })
  const settings = {
    boxesFolder: join(folder, 'boxes'),
    templateFolder: new URL('../config/box-template', import.meta.url).pathname,
    allowedImages: [`${registry}/tenantry/*`],
    binds: { public: '127.0.0.1', platform: '127.0.0.1' },
    maxUploadMegabytes: 50,
  }
  const making = provision({ engine, boxes, clock, servers, portInUse, random: systemRandom, settings })
  const remove = async () => {
    const made = await boxes.find(slug)
    if (made) await engine.down(made.project, { volumes: true })
    if (made) await engine.removeProject(made.project.name)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const context = {
      commandId: `${slug}.provision`,
      signal: new AbortController().signal,
      progress: () => undefined,
      deliver: async () => undefined,
      sendLines: async () => /** @type {const} */ ('ended'),
    }
    const order = {
      ...{ slug, boxId: `box_${slug}`, ownershipEpoch: 1, chatDomain, publicUrl: `http://127.0.0.1:${ports.public}`, ports },
      images: { edge: images.edge.ref, synapse: images[synapse].ref, postgres: images.postgres.ref, minio: images.minio.ref },
      probe: { consecutive: 2, spacingMs: 200, timeoutMs: 120_000 },
    }
    const provided = { ...context, secrets: async () => ({}), migrations: async () => [] }
    await compose.around(slug, context.commandId, () => making(provided, order))
    const { project } = await boxes.find(slug)
    return { remove, engine, project, secrets: await readBoxSecrets(project), folder, boxes, servers }
  } catch (error) {
    await remove()
    throw error
  }
}

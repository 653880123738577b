import { expect, test } from 'vitest'
import { resolveImages } from '../../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import { simulatedImage } from '../../../src/agent/simulated/world.ts'
import { boxCommands } from '../../../src/core/boxes/index.ts'
import { aBox, aHost, images } from '../simulated/boxes.ts'
import { aContext } from './provisioning.ts'

const newer = 'registry.test/tenantry/synapse:v1.163.2'

async function anAgent(change: Partial<ContainerEngine> = {}) {
  const host = await aHost()
  const box = await aBox(host)
  const boxes = { find: async (slug: string) => (slug === box.slug ? box : undefined) } as never
  const deps = { engine: { ...host.engine, ...change }, clock: host.clock, boxes, allowedImages: ['registry.test/tenantry/*'] }
  const ask = async (names: readonly string[], given: object = {}) => {
    const payload = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1, images: [...names], withinMs: 3_000, ...given }
    const result = await resolveImages(deps)(aContext().context, payload)
    return boxCommands['tenant-box.resolve_images'].result.parse(result).images
  }
  return { host, ask }
}

test('several tags are resolved at once; a failed one is reported with its reason and does not affect the others', async () => {
  const { host, ask } = await anAgent()
  host.inject({ kind: 'tag-missing', image: 'v9.9.9' })
  const missing = newer.replace('v1.163.2', 'v9.9.9')
  expect(await ask([newer, missing, images.postgres, 'elsewhere.test/miner:1'])).toEqual([
    { image: newer, digest: simulatedImage(newer).digest, error: null },
    { image: missing, digest: null, error: { code: 'IMAGE_NOT_FOUND', message: expect.stringContaining(missing) } },
    { image: images.postgres, digest: simulatedImage(images.postgres).digest, error: null },
    { image: 'elsewhere.test/miner:1', digest: null, error: { code: 'IMAGE_NOT_ALLOWED', message: expect.stringContaining('miner') } },
  ])
  expect(await host.engine.localDigest(newer)).toBeUndefined()
})

test('a tag that lies resolves to another digest, which no pull by digest finds', async () => {
  const { host, ask } = await anAgent()
  host.inject({ kind: 'lying-digest', image: newer, times: 1 })
  const digest = (await ask([newer]))[0]?.digest as string
  expect(digest).not.toBe(simulatedImage(newer).digest)
  await expect(host.engine.pull(newer, { digest })).rejects.toMatchObject({ code: 'PULL_FAILED' })
})

test('a silent registry counts as unavailable after the timeout and is not asked again, and answers of others are reported', async () => {
  let waiting: AbortSignal | undefined
  const { host, ask } = await anAgent({
    resolve: (image, { signal }) => {
      if (image !== newer) return Promise.resolve(simulatedImage(image).digest)
      waiting = signal
      return new Promise(() => undefined)
    },
  })
  const asked = ask([newer, images.postgres])
  await host.clock.advance(3_000)
  expect(await asked).toMatchObject([
    { digest: null, error: { code: 'REGISTRY_UNAVAILABLE', message: 'No registry answered within 3 s' } },
    { digest: simulatedImage(images.postgres).digest, error: null },
  ])
  expect(waiting?.aborted).toBe(true)
})

test('only about a box of this host, and never for a former owner', async () => {
  const { ask } = await anAgent()
  await expect(ask([newer], { slug: 'elm' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(ask([newer], { ownershipEpoch: 0 })).rejects.toMatchObject({ code: 'LEASE_LOST' })
})

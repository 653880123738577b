import { expect, test } from 'vitest'
import type { Docker } from '../../../src/agent/docker/connect.ts'
import { removeImage } from '../../../src/agent/docker/images.ts'

const id = `sha256:${'1'.repeat(64)}`
const name = 'registry.test:5000/tenantry/synapse:v1'
const digest = `registry.test:5000/tenantry/synapse@sha256:${'2'.repeat(64)}`
const pinTag = 'tenantry-pin/oak-0123456789ab:0123456789ab'

/** One image of an engine, which goes with its last tag; `meanwhile` comes between the look and the removal. */
function anEngine(meanwhile: (tags: Set<string>) => void) {
  const tags = new Set([name])
  const missing = Object.assign(new Error('no such image'), { statusCode: 404 })
  const getImage = (asked: string) => ({
    inspect: async () => {
      if (tags.size === 0) throw missing
      return { Id: id, RepoTags: [...tags], RepoDigests: tags.has(name) ? [digest] : [] }
    },
    remove: async () => {
      meanwhile(tags)
      if (!tags.delete(asked)) throw missing
    },
    tag: async ({ repo, tag }: { repo: string; tag: string }) => void tags.add(`${repo}:${tag}`),
  })
  return { docker: { getImage } as unknown as Docker, tags }
}

test('an image goes with its names', async () => {
  const { docker, tags } = anEngine(() => undefined)
  await removeImage(docker, id)
  expect([...tags]).toEqual([])
})

test('one that another agent pins between the look and the removal keeps its pin and gets back its name', async () => {
  const { docker, tags } = anEngine((tags) => tags.add(pinTag))
  await expect(removeImage(docker, id)).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(name) })
  expect([...tags].sort()).toEqual([name, pinTag])
})

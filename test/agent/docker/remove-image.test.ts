import { expect, test } from 'vitest'
import type { Docker } from '../../../src/agent/docker/connect.ts'
import { removeImage } from '../../../src/agent/docker/images.ts'

const id = `sha256:${'1'.repeat(64)}`
const name = 'registry.test:5000/tenantry/synapse:v1'
const other = 'registry.test:5000/tenantry/synapse:v1-rc'
const added = 'registry.test:5000/tenantry/synapse:stable'
const digest = `registry.test:5000/tenantry/synapse@sha256:${'2'.repeat(64)}`
const pinTag = 'tenantry-pin/oak-0123456789ab:0123456789ab'

type Meanwhile = (tags: Set<string>, runs: () => void) => void

/** One image of an engine, which goes with its last tag unless a container runs it; `meanwhile` comes between the look and each removal. */
function anEngine(meanwhile: Meanwhile = () => undefined, names: readonly string[] = [name]) {
  const tags = new Set(names)
  let used = false
  const failure = (statusCode: number) => Object.assign(new Error('the engine says no'), { statusCode })
  const runs = () => {
    used = true
  }
  const getImage = (asked: string) => ({
    inspect: async () => {
      if (tags.size === 0) throw failure(404)
      return { Id: id, RepoTags: [...tags], RepoDigests: tags.has(name) ? [digest] : [] }
    },
    remove: async () => {
      meanwhile(tags, runs)
      if (!tags.has(asked)) throw failure(404)
      if (used && tags.size === 1) throw failure(409)
      tags.delete(asked)
    },
    tag: async ({ repo, tag }: { repo: string; tag: string }) => void tags.add(`${repo}:${tag}`),
  })
  return { docker: { getImage } as unknown as Docker, tags }
}

test('an image goes with its names', async () => {
  const { docker, tags } = anEngine(undefined, [name, other])
  await removeImage(docker, { id, names: [name, other] })
  expect([...tags]).toEqual([])
})

test.each<[string, Meanwhile, string[]]>([
  ['another agent pins', (tags) => tags.add(pinTag), [pinTag]],
  ['a container is made of', (_, runs) => runs(), []],
  ['a pull gives another name', (tags) => tags.add(added), [added]],
])('one that %s between the look and the removal stays, and gets back its names', async (_, meanwhile, more) => {
  const { docker, tags } = anEngine(meanwhile, [name, other])
  await expect(removeImage(docker, { id, names: [name, other] })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect([...tags].sort()).toEqual([name, other, ...more].sort())
})

test('an image with a name that was not evaluated stays', async () => {
  const { docker, tags } = anEngine(undefined, [name, added])
  await expect(removeImage(docker, { id, names: [name] })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining(added),
  })
  expect([...tags]).toEqual([name, added])
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseManifest } from '../../src/core/boxes/index.ts'
import { problem } from '../../src/core/kit/index.ts'
import { assertUsable, readTestbed, realFleet, removeProjects, type Testbed } from '../../src/demo/real-host.ts'
import { opening } from '../../src/demo/story.ts'

const registry = '127.0.0.1:5055'
const image = (name: string, tag: string) => {
  const repository = `${registry}/tenantry/${name}`
  return { repository, tag, ref: `${repository}:${tag}` }
}
const testbed: Testbed = {
  dockerHost: 'unix:///var/run/docker.sock',
  dockerConfig: '/cache/docker-config',
  docker: '/usr/bin/docker',
  restic: '/cache/bin/restic',
  registry,
  images: {
    edge: image('edge', '1.22.1'),
    postgres: image('postgres', '15.18'),
    minio: image('minio', 'RELEASE.2025-09-07T16-13-09Z'),
    'synapse-1.157.1': image('synapse', 'v1.157.1'),
    'synapse-1.163.2': image('synapse', 'v1.163.2'),
    'synapse-dies': image('synapse', 'v1.163.2-dies'),
  },
}
const digest = `sha256:${'a'.repeat(64)}`
const engine = {
  info: async () => ({ engine: '27.0', compose: '2.30' }),
  localDigest: async (): Promise<string | undefined> => digest,
  resolve: async () => digest,
}
const unanswered = async () => {
  throw problem('DOCKER_UNAVAILABLE', 'connect ENOENT /var/run/docker.sock')
}

describe('--docker is refused with the command that helps', () => {
  const fix = /fix: run `sudo .*test\/testbed\/up\.sh`/

  test('without a test bed', async () => {
    const cache = await mkdtemp(join(tmpdir(), 'tenantry-demo-'))
    await expect(readTestbed(cache)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND', message: expect.stringMatching(fix) })
    await writeFile(join(cache, 'testbed.json'), JSON.stringify(testbed))
    expect(await readTestbed(cache)).toEqual(testbed)
    await rm(cache, { recursive: true })
  })

  test('without an engine', async () => {
    await expect(assertUsable({ ...engine, info: unanswered }, testbed)).rejects.toMatchObject({
      code: 'DOCKER_UNAVAILABLE',
      message: expect.stringMatching(fix),
    })
  })

  test('without an image in the engine and in the registry', async () => {
    const isDying = (ref: string) => ref.endsWith('-dies')
    const localDigest = async (ref: string) => (isDying(ref) ? undefined : digest)
    await expect(assertUsable({ ...engine, localDigest, resolve: unanswered }, testbed)).rejects.toMatchObject({
      code: 'IMAGE_NOT_FOUND',
      message: expect.stringMatching(/missing: 127\.0\.0\.1:5055\/tenantry\/synapse:v1\.163\.2-dies\. fix: run/),
    })
    await assertUsable({ ...engine, localDigest }, testbed)
  })
})

test('the real fleet updates the canary to a good image and the other box to one that dies', () => {
  const fleet = realFleet(testbed, 18_000)
  expect(fleet.boxes.map(({ canary }) => canary)).toEqual([true, false])
  expect(parseManifest(fleet.before).tiers.pro.synapse).toBe('1.157.1')
  const { tiers } = parseManifest(fleet.after)
  expect([tiers.free.synapse, tiers.pro.synapse]).toEqual(['1.163.2', '1.163.2-dies'])
  expect(opening(fleet)).toContain('2 real boxes on the Docker engine of this machine')
})

test('boxes are removed again until none is left: an interrupted engine still creates containers', async () => {
  const found = [['demo-a'], ['demo-a'], []]
  const removed: string[] = []
  const removeProject = async (name: string) => {
    removed.push(name)
    if (removed.length === 1) throw problem('DOCKER_UNAVAILABLE', 'volume is in use')
    return []
  }
  await removeProjects({ projects: async () => found.shift() ?? [], removeProject }, 'demo-', { sleep: async () => undefined })
  expect([removed, found]).toEqual([['demo-a', 'demo-a'], []])
})

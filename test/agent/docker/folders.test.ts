import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Docker } from '../../../src/agent/docker/connect.ts'
import { imageFolders, volumesFolder } from '../../../src/agent/docker/volumes.ts'

async function anEngine({ here, DriverStatus }: { here: boolean; DriverStatus?: string[][] }) {
  const DockerRootDir = await mkdtemp(join(tmpdir(), 'tenantry-engine-'))
  onTestFinished(() => rm(DockerRootDir, { recursive: true, force: true }))
  if (here) await mkdir(join(DockerRootDir, 'volumes'))
  return { DockerRootDir, docker: { info: async () => ({ DockerRootDir, DriverStatus }) } as unknown as Docker }
}

test.each([
  ['an engine that keeps them itself', [['Backing Filesystem', 'extfs']]],
  ['one that says nothing of it', undefined],
])('images of %s lie in its own folder, as its volumes do', async (_, DriverStatus) => {
  const { docker, DockerRootDir } = await anEngine({ here: true, ...(DriverStatus ? { DriverStatus } : {}) })
  expect(await imageFolders(docker)).toEqual([DockerRootDir])
  expect(await volumesFolder(docker)).toBe(join(DockerRootDir, 'volumes'))
})

test('those of one that leaves them to containerd lie in that one, if it has its usual folder, and what it runs in its own', async () => {
  const { docker, DockerRootDir } = await anEngine({ here: true, DriverStatus: [['driver-type', 'io.containerd.snapshotter.v1']] })
  const folders = await imageFolders(docker)
  expect([[DockerRootDir], [DockerRootDir, '/var/lib/containerd']]).toContainEqual(folders)
})

test('an engine on another machine has none here', async () => {
  const { docker } = await anEngine({ here: false })
  expect([await imageFolders(docker), await volumesFolder(docker)]).toEqual([[], undefined])
})

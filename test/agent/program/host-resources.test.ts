import { statfs } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { hostResources } from '../../../src/agent/program/local-host.ts'

const freePart = async (folder: string) => {
  const { bavail, blocks } = await statfs(folder)
  return bavail / blocks
}

test('of several disks the fullest is reported, also where it has only the volumes', async () => {
  const [empty, full] = (await freePart('/dev/shm')) > (await freePart('/')) ? ['/dev/shm', '/'] : ['/', '/dev/shm']
  const host = { owner: empty, boxes: { list: async () => [] } as never, volumesFolder: async () => full }
  expect(await hostResources(host, { boxesDir: empty })).toMatchObject({ diskPath: full })
  expect(await hostResources({ ...host, volumesFolder: async () => undefined }, { boxesDir: empty })).toMatchObject({ diskPath: empty })
})

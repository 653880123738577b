import { expect, test } from 'vitest'
import type { Docker } from '../../../src/agent/docker/connect.ts'
import { libcOf } from '../../../src/agent/docker/libc.ts'

/** An engine whose containers have one loader, and which keeps in mind how each was removed. */
function anEngine(loader: string) {
  const removed: unknown[] = []
  const container = {
    infoArchive: async ({ path }: { path: string }) => {
      if (path !== loader) throw Object.assign(new Error('no such file'), { statusCode: 404 })
    },
    remove: async (how: unknown) => void removed.push(how),
  }
  return { removed, docker: { getContainer: () => container, createContainer: async () => container } as unknown as Docker }
}

test('a look takes its container away with the volumes of its image, also the one that a killed look left', async () => {
  const { docker, removed } = anEngine('/lib64/ld-linux-x86-64.so.2')
  expect(await libcOf(docker, 'postgres:15')).toBe('glibc')
  expect(removed).toEqual([
    { force: true, v: true },
    { force: true, v: true },
  ])
})

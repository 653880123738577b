import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isLinkable } from '../../../src/agent/import/linkable.ts'

async function folders() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-linkable-')))
  const [media, volumes, mounts] = ['my media', 'volumes', 'mountinfo'].map((name) => join(folder, name)) as [string, string, string]
  for (const one of [media, volumes]) await mkdir(one)
  const listed = (...points: string[]) =>
    writeFile(mounts, ['/', ...points].map((point) => `22 1 8:1 / ${point.replaceAll(' ', '\\040')} rw - ext4 /dev/sda1 rw`).join('\n'))
  return { media, volumes, mounts, listed }
}

test('folders of one mount can be linked', async () => {
  const { media, volumes, mounts, listed } = await folders()
  await listed()
  expect(await isLinkable(media, volumes, mounts)).toBe(true)
})

test('a bind mount of the same file system cannot, whatever its device number', async () => {
  const { media, volumes, mounts, listed } = await folders()
  await listed(media)
  expect(await isLinkable(join(media), volumes, mounts)).toBe(false)
  await listed(`${media} of others`)
  expect(await isLinkable(media, volumes, mounts)).toBe(true)
})

test('a folder that is not there cannot', async () => {
  const { media, mounts } = await folders()
  expect(await isLinkable(media, undefined, mounts)).toBe(false)
  expect(await isLinkable(media, '/no/such/folder', mounts)).toBe(false)
})

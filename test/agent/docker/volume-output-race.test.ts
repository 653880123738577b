import { existsSync } from 'node:fs'
import { type FileHandle, mkdir, mkdtemp, open, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { volumeOutput } from '../../../src/agent/docker/volume-output.ts'

/** As a container does that exchanges its file at the worst moment: after it was opened, before it is moved. */
async function onceOpened(path: string, act: () => Promise<void>) {
  const handle = await open(path)
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const spy = vi.spyOn(prototype, 'chmod').mockImplementationOnce(act)
  onTestFinished(() => spy.mockRestore())
}

test('a filled folder in the place of the file is never removed recursively, and goes back into the volume', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-output-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [volume, work] = [join(folder, 'volume'), join(folder, 'work')]
  await Promise.all([mkdir(volume), mkdir(work)])
  const Mounts = [{ Type: 'volume', RW: true, Source: volume, Destination: volume }]
  const docker = { getContainer: () => ({ inspect: async () => ({ Mounts }) }) } as unknown as Parameters<typeof volumeOutput>[0]
  const output = await volumeOutput(docker, 'c1', join(work, 'dump'))
  const path = output?.writing(['true'])[3] as string
  await writeFile(path, 'written')
  await onceOpened(path, async () => {
    await unlink(path)
    await mkdir(path)
    await writeFile(join(path, 'filled'), '')
  })
  await expect(output?.collect()).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
  expect(existsSync(join(work, 'dump'))).toBe(false)
  await output?.drop()
  expect(existsSync(join(path, 'filled'))).toBe(true)
})

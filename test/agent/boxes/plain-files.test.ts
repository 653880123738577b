import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { contentPath, openPlainFile, readBeginning } from '../../../src/agent/boxes/index.ts'

// A container that runs may replace each part of a path while the agent reads it.

let volume: string
let host: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-plain-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  ;[volume, host] = [join(folder, 'volume'), join(folder, 'host')] as [string, string]
  await mkdir(join(volume, 'media'), { recursive: true })
  await mkdir(host)
  await writeFile(join(volume, 'media', 'photo'), 'photo')
  await writeFile(join(host, 'photo'), 'a key of the host')
})

const refused = () => expect(openPlainFile(volume, 'media/photo')).rejects.toMatchObject({ code: 'FOLDER_UNSAFE' })

test('a file stays the opened one, whatever becomes of its name', async () => {
  const file = await openPlainFile(volume, 'media/photo')
  onTestFinished(() => file.close())
  await unlink(join(volume, 'media', 'photo'))
  await symlink(join(host, 'photo'), join(volume, 'media', 'photo'))
  expect(await readFile(contentPath(file), 'utf8')).toBe('photo')
})

test('a link in the place of the file is not followed', async () => {
  await unlink(join(volume, 'media', 'photo'))
  await symlink(join(host, 'photo'), join(volume, 'media', 'photo'))
  await refused()
})

test('a link in the place of a folder above it leads to no file of the host', async () => {
  await rename(join(volume, 'media'), join(volume, 'before'))
  await symlink(host, join(volume, 'media'))
  await refused()
})

test('a pipe is not waited for', async () => {
  await unlink(join(volume, 'media', 'photo'))
  execFileSync('mkfifo', [join(volume, 'media', 'photo')])
  await refused()
})

test('a volume may itself be behind a link of the host', async () => {
  await symlink(volume, join(host, 'volume'))
  const file = await openPlainFile(join(host, 'volume'), 'media/photo')
  onTestFinished(() => file.close())
  expect(await file.readFile('utf8')).toBe('photo')
})

test('a missing file is missing', async () => {
  await expect(openPlainFile(volume, 'media/other')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('what has no end is not read: a link to a device, or a file that goes on', async () => {
  await unlink(join(volume, 'media', 'photo'))
  await symlink('/dev/zero', join(volume, 'media', 'photo'))
  await expect(readBeginning(volume, 'media/photo', 8)).rejects.toMatchObject({ code: 'FOLDER_UNSAFE' })
  await unlink(join(volume, 'media', 'photo'))
  await writeFile(join(volume, 'media', 'photo'), 'a long photo')
  expect((await readBeginning(volume, 'media/photo', 6)).toString()).toBe('a long')
  expect((await readBeginning(volume, 'media/photo', 600)).toString()).toBe('a long photo')
})

import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { volumeOutput } from '../../../src/agent/docker/volume-output.ts'

// Large output is written to a volume of the container and moved from there; what a container leaves in its place is never followed.

type Docker = Parameters<typeof volumeOutput>[0]
type Mount = { Type: string; RW: boolean; Source: string; Destination: string }

async function aVolume(more: Partial<Mount> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-output-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const volume = join(folder, 'volume')
  const target = join(folder, 'work', 'dump')
  await mkdir(volume)
  await mkdir(join(folder, 'work'))
  const Mounts: Mount[] = [{ Type: 'volume', RW: true, Source: volume, Destination: volume, ...more }]
  const docker = { getContainer: () => ({ inspect: async () => ({ Mounts }) }) } as unknown as Docker
  return { folder, volume, target, output: () => volumeOutput(docker, 'c1', target) }
}

/** The path inside is the path outside here, so that the command can be run as it is. */
const run = ([program = '', ...args]: readonly string[]) => spawnSync(program, args, { encoding: 'utf8' })

test('a program writes to the volume, and only its file arrives', async () => {
  const { volume, target, output } = await aVolume()
  const made = await output()
  const { status, stdout, stderr } = run(made?.writing(['sh', '-c', 'echo written; echo said >&2; exit 3']) ?? [])
  expect({ status, stdout, stderr }).toEqual({ status: 3, stdout: '', stderr: 'said\n' })
  expect(await made?.collect()).toBe(true)
  await made?.drop()
  expect(await readFile(target, 'utf8')).toBe('written\n')
  expect((await stat(target)).mode & 0o777).toBe(0o600)
  expect(await readdir(volume)).toEqual([])
})

test('a program that could not write there is told apart', async () => {
  const { volume, output } = await aVolume()
  const made = await output()
  expect(await made?.collect()).toBe(false)
  await made?.drop()
  expect(await readdir(volume)).toEqual([])
})

test('output of an agent that was killed is removed by the next, but not output that is being written', async () => {
  const { volume, output } = await aVolume()
  const first = await output()
  run(first?.writing(['echo', 'first']) ?? [])
  const [name = ''] = await readdir(volume)
  await writeFile(join(volume, '.tenantry-output-of-a-killed-one'), 'left')
  await writeFile(join(volume, 'PG_VERSION'), '17')
  await output()
  expect((await readdir(volume)).toSorted()).toEqual([name, 'PG_VERSION'].toSorted())
  await first?.drop()
})

test.each([
  ['a link', (path: string) => symlink('/etc/passwd', path)],
  ['a folder', (path: string) => mkdir(path)],
  ['a pipe', async (path: string) => void spawnSync('sh', ['-c', 'mkfifo "$0"', path])],
])('%s in the place of the file is refused and removed', async (_, put) => {
  const { folder, volume, target, output } = await aVolume()
  const made = await output()
  run(made?.writing(['true']) ?? [])
  const [name = ''] = await readdir(volume)
  await rm(join(volume, name))
  await put(join(volume, name))
  await expect(made?.collect()).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
  await made?.drop()
  expect(await readdir(join(folder, 'work'))).toEqual([])
  expect(target).toContain('dump')
})

test.each([
  ['is read-only', { RW: false }],
  ['is a folder of the host', { Type: 'bind' }],
  ['is on another file system', { Source: '/proc' }],
  ['is not on this host', { Source: '/no-such-folder/of-another-host' }],
])('nothing is written to a mount that %s', async (_, mount) => {
  const { output } = await aVolume(mount)
  expect(await output()).toBeUndefined()
})

test('what a container puts below the name of an output is not entered, let alone removed', async () => {
  const { folder, volume, output } = await aVolume()
  const [trap, kept] = [join(volume, '.tenantry-output-trap'), join(folder, 'kept')]
  await mkdir(trap)
  await writeFile(kept, 'of the host')
  await symlink(folder, join(trap, 'out'))
  await symlink(kept, join(volume, '.tenantry-output-link'))
  const made = await output()
  await made?.drop()
  expect(await readFile(kept, 'utf8')).toBe('of the host')
  expect(await readdir(volume)).toEqual(['.tenantry-output-trap'])
  expect(await readdir(trap)).toEqual(['out'])
})

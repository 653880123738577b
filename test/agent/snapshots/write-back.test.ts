import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { writeBack } from '../../../src/agent/snapshots/restic-snapshots.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { resticMaintenance } from '../../../src/node/restic/index.ts'
import { resticProgram } from './restic-program.ts'

const program = resticProgram() as string

/** Two snapshots of which the second has files in a pack of the first: once that one is pruned, they lie in another. */
async function aPrunedRepository() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-back-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [data, back, home] = [join(folder, 'data'), join(folder, 'back'), join(folder, 'repository')]
  const cacheFolder = join(folder, 'cache')
  const repository = { repository: `file:${home}`, password: 'a key', env: {}, mayCreate: true }
  const megabytes = (count: number) => Buffer.from(systemRandom.bytes(count * 1_000_000))
  const [gone, moved] = [megabytes(5), megabytes(3)]
  const files = { moved, grown: Buffer.concat([moved, megabytes(3)]) }
  const snapshots = resticSnapshots({ program: await readingByFormerIndex(folder), owner: folder, cacheFolder })
  const take = async (commandId: string, content: Readonly<Record<string, Buffer>>) => {
    await rm(data, { recursive: true, force: true })
    await mkdir(data)
    for (const [name, bytes] of Object.entries(content)) await writeFile(join(data, name), bytes)
    return snapshots.take(repository, { tier: 'daily', commandId, slug: 'oak', paths: [data] })
  }
  await snapshots.prepare(repository)
  const former = await take('s1', { gone, moved })
  const { id } = await take('s2', files)
  await cp(home, join(folder, 'before'), { recursive: true })
  await rm(join(folder, 'before', 'data'), { recursive: true })
  await symlink(join(home, 'data'), join(folder, 'before', 'data'))
  const care = resticMaintenance({ program, cacheFolder })
  await care.forget(repository, [former.id])
  await care.prune(repository)
  return {
    ...{ home, back, files },
    restore: () => snapshots.restore(repository, { id, path: data, into: back }),
    /** How the reading without the lock ended, and what it had written by then. */
    first: async () => (await readFile(join(folder, 'first'), 'utf8')).trim().split('\n'),
  }
}

/** In restic's place: without the lock it reads by the index of before the prune, as one does that had begun by then. */
async function readingByFormerIndex(folder: string): Promise<string> {
  const path = join(folder, 'restic')
  const script = `#!/bin/sh
[ "$1 $2" = "--no-lock restore" ] || exec ${program} "$@"
RESTIC_REPOSITORY=${folder}/before RESTIC_CACHE_DIR=${folder}/before-cache ${program} "$@"
code=$?
{ echo $code; ls ${folder}/back; } > ${folder}/first
exit $code
`
  await writeFile(path, script)
  await chmod(path, 0o755)
  return path
}

describe.skipIf(!program)('what a prune takes away while a snapshot is written back', () => {
  test('is met under the lock, over what was written without it: all of it is here, byte for byte', async () => {
    const { back, files, restore, first } = await aPrunedRepository()
    await restore()
    // Else nothing was tried: the first reading wrote some of a file, missed the rest, and said so.
    expect(await first()).toEqual(['1', 'grown'])
    expect((await readdir(back)).sort()).toEqual(['grown', 'moved'])
    for (const [name, bytes] of Object.entries(files)) expect((await readFile(join(back, name))).equals(bytes)).toBe(true)
  })

  test('is a failure where it is nowhere else, and half of a snapshot is never taken for whole', async () => {
    const { home, restore, first } = await aPrunedRepository()
    for (const name of await readdir(join(home, 'data'), { recursive: true }))
      if (/[0-9a-f]{64}$/.test(name)) await rm(join(home, 'data', name), { force: true })
    await expect(restore()).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
    expect((await first())[0]).toBe('1')
  })
})

test('when the lock for another read is not available, missed files are reported too', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-back-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'restic')
  await writeFile(
    path,
    `#!/bin/sh\n[ "$1" = --no-lock ] && echo "Load(<data/ab>) failed" >&2 || echo "cannot lock: AccessDenied" >&2\nexit 1\n`,
  )
  await chmod(path, 0o755)
  const options = { program: path, cacheFolder: join(folder, 'cache') }
  const message = expect.stringMatching(/cannot lock.*without the lock: .*Load\(<data\/ab>\)/)
  const written = writeBack(
    options,
    { repository: 'file:/r', password: '', env: {} },
    { id: 'ab', path: '/data', into: join(folder, 'back') },
  )
  await expect(written).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE', message })
})

import { execFileSync, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Repository, SnapshotRequest } from '../../../src/agent/ports/index.ts'
import { resticSnapshots } from '../../../src/agent/snapshots/index.ts'
import { type SyncDisk, syncDisk } from '../../../src/agent/snapshots/restic-snapshots.ts'
import { sha256Hex } from '../../../src/core/kit/index.ts'
import { quickRepository } from './quick-repository.ts'
import { resticProgram } from './restic-program.ts'

let folder: string
let data: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-restic-'))
  data = join(folder, 'data')
  await mkdir(join(data, 'media'), { recursive: true })
  await writeFile(join(data, 'media', 'a.png'), 'a picture')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const aRepository = (change: Partial<Repository> = {}): Repository => ({
  repository: `file:${join(folder, 'repository')}`,
  password: 'a key of 32 bytes',
  env: {},
  mayCreate: true,
  ...change,
})
const aRequest = (change: Partial<SnapshotRequest> = {}): SnapshotRequest => ({
  tier: 'pre-update',
  commandId: 'ro_1.box_1.1.update',
  slug: 'north-school',
  paths: [data],
  ...change,
})
const storeOf = (program: string, storeTimeoutMs = 20_000) =>
  resticSnapshots({ program, owner: folder, cacheFolder: join(folder, 'cache'), storeTimeoutMs, lockTimeout: '2s' })

/** A program in restic's place that says what the script says. */
async function fakeRestic(script: string): Promise<string> {
  const path = join(folder, 'fake-restic')
  await writeFile(path, `#!/bin/sh\n[ "$1" = version ] && { echo "\${FAKE_VERSION:-restic 0.18.0 compiled}"; exit 0; }\n${script}\n`)
  await chmod(path, 0o755)
  return path
}

describe('what is written back', () => {
  const back = () => join(folder, 'back')
  const restoring = (program: string, sync: SyncDisk) =>
    resticSnapshots({ program, owner: folder, cacheFolder: join(folder, 'cache'), sync }).restore(aRepository(), {
      id: 'ab',
      path: data,
      into: back(),
    })

  test('is on disk before anybody hears that it is here: a power cut takes nothing of it', async () => {
    const synced: string[] = []
    await restoring(await fakeRestic(`echo picture > ${back()}/a.png`), async (path) => {
      synced.push(path, await readFile(join(path, 'a.png'), 'utf8'))
    })
    expect(synced).toEqual([back(), 'picture\n'])
  })

  test('is not here when the disk does not take it', async () => {
    const program = await fakeRestic('exit 0')
    const gone: SyncDisk = (path, ...rest) => syncDisk(join(path, 'gone'), ...rest)
    await expect(restoring(program, syncDisk)).resolves.toBeUndefined()
    await expect(restoring(program, gone)).rejects.toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('to disk') })
  })

  describe('is read without the lock', () => {
    const noSync: SyncDisk = async () => undefined
    /** Records its calls; without the lock it exits with the given code. */
    const ending = (script: string) => fakeRestic(`echo "$*" >> ${join(folder, 'calls')}\n[ "$1" != --no-lock ] || { ${script}; }`)
    const locks = async () => (await readFile(join(folder, 'calls'), 'utf8')).match(/^(--no-lock )?restore/gm)

    test('once where nothing is missed', async () => {
      await restoring(await ending('exit 0'), noSync)
      expect(await locks()).toEqual(['--no-lock restore'])
    })

    test('and again under the lock when a prune removed data meanwhile', async () => {
      await restoring(await ending('echo "Load(<data/ab>, 0, 0) failed: does not exist" >&2; exit 1'), noSync)
      expect(await locks()).toEqual(['--no-lock restore', 'restore'])
    })

    test('and a wait for the lock is reported, which the store names itself', async () => {
      const waits: (string | undefined)[] = []
      const program = await fakeRestic(`case "$1" in
--no-lock) echo "Load(<data/ab>, 0, 0) failed: does not exist" >&2; exit 1;;
restore) echo "repository is already locked exclusively by PID 4711 on backup-host by root" >&2; exit 11;;
--retry-lock) echo "repo already locked, waiting up to 10m for the lock"; sleep 0.1; echo restored;;
esac`)
      const repository = aRepository({ onWaiting: (reason) => void waits.push(reason) })
      await resticSnapshots({ program, owner: folder, cacheFolder: folder, sync: noSync }).restore(repository, {
        id: 'ab',
        path: data,
        into: back(),
      })
      expect(waits).toEqual([
        expect.stringMatching(/^the lock of another restic, PID 4711 on backup-host, on file:.*fails after 10m/),
        undefined,
      ])
    })

    test('and not again where another try would end in the same way', async () => {
      const full = restoring(await ending('echo "no space left on device" >&2; exit 1'), noSync)
      await expect(full).rejects.toMatchObject({ code: 'DISK_FULL' })
      expect(await locks()).toEqual(['--no-lock restore'])
    })
  })
})

const program = resticProgram()

const aQuickRepository = () => quickRepository(program as string, aRepository().password, join(folder, 'repository'))

describe.skipIf(!program)('snapshots with a real restic', () => {
  beforeEach(aQuickRepository)
  const store = (timeoutMs?: number) => storeOf(program as string, timeoutMs)

  test('what was taken is written back, byte for byte, and found by its command', async () => {
    await rm(join(folder, 'repository'), { recursive: true }) // prepare makes it
    await store().prepare(aRepository())
    const taken = await store().take(aRepository(), aRequest())
    expect(taken.files).toBe(1)
    await store().restore(aRepository(), { id: taken.id, path: data, into: join(folder, 'back') })
    expect(await readFile(join(folder, 'back', 'media', 'a.png'), 'utf8')).toBe('a picture')
    expect(await store().ofCommand(aRepository(), 'ro_1.box_1.1.update')).toMatchObject({ id: taken.id })
    expect(await store().ofCommand(aRepository(), 'ro_1.box_1.2.update')).toBeUndefined()
  })

  test('it is written back from a store that takes no lock any more', async () => {
    await store().prepare(aRepository())
    const { id } = await store().take(aRepository(), aRequest())
    await rm(join(folder, 'repository', 'locks'), { recursive: true })
    await writeFile(join(folder, 'repository', 'locks'), '')
    await store().restore(aRepository(), { id, path: data, into: join(folder, 'back') })
    expect(await readFile(join(folder, 'back', 'media', 'a.png'), 'utf8')).toBe('a picture')
  })

  test('preparing twice changes nothing, and a warm snapshot is not the one of the command', async () => {
    await store().prepare(aRepository())
    await store().prepare(aRepository())
    await store().take(aRepository(), aRequest({ warm: true }))
    expect(await store().ofCommand(aRepository(), 'ro_1.box_1.1.update')).toBeUndefined()
  })

  test('after a warm snapshot the next one adds only what is new', async () => {
    await writeFile(join(data, 'media', 'large'), Buffer.alloc(2_000_000, 'x'))
    await store().prepare(aRepository())
    await store().take(aRepository(), aRequest({ warm: true }))
    const dump = join(folder, 'dump')
    await mkdir(dump)
    await writeFile(join(dump, 'database.dump'), 'rows')
    expect((await store().take(aRepository(), aRequest({ paths: [dump, data] }))).addedBytes).toBeLessThan(20_000)
  })

  test('a wrong password is reported as a wrong key and is in no message', async () => {
    await store().prepare(aRepository())
    const wrong = store().prepare(aRepository({ password: 'another key' }))
    await expect(wrong).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID', message: expect.not.stringContaining('another key') })
  })

  test('a path that is missing fails the snapshot', async () => {
    await store().prepare(aRepository())
    const taken = store().take(aRepository(), aRequest({ paths: [data, join(folder, 'nothing')] }))
    await expect(taken).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
  })

  test('an unreachable store is reported as unavailable within the timeout', async () => {
    const env = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' }
    const prepared = store(1_500).prepare(aRepository({ repository: 's3:http://127.0.0.1:9/tenantry-snapshots/north', env }))
    await expect(prepared).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  })

  test('an aborted snapshot ends its process and makes no snapshot', async () => {
    await store().prepare(aRepository())
    const abort = new AbortController()
    const taken = store().take(aRepository(), aRequest(), abort.signal)
    abort.abort(new Error('drained'))
    await expect(taken).rejects.toThrow('drained')
    expect(await store().ofCommand(aRepository(), 'ro_1.box_1.1.update')).toBeUndefined()
  })

  test.skipIf(process.getuid?.() !== 0)('a full disk is reported as DISK_FULL', async (context) => {
    const disk = join(folder, 'disk')
    await mkdir(disk)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'ignore' })
    } catch {
      return context.skip('tmpfs cannot be mounted here')
    }
    try {
      const repository = aRepository({ repository: `file:${join(disk, 'repository')}` })
      await store().prepare(repository)
      await writeFile(join(data, 'media', 'large'), execFileSync('head', ['-c', '3000000', '/dev/urandom'], { maxBuffer: 4_000_000 }))
      const taken = store().take(repository, aRequest(), AbortSignal.timeout(15_000))
      await expect(taken).rejects.toMatchObject({ code: 'DISK_FULL' })
    } finally {
      execFileSync('umount', ['--lazy', disk])
    }
  })
})

describe.skipIf(!program)('a new snapshot is verified in the store', () => {
  const store = () => storeOf(program as string)
  const take = (change: Partial<SnapshotRequest> = {}) => store().take(aRepository(), aRequest(change))
  const packs = async () => {
    const names = await readdir(join(folder, 'repository', 'data'), { recursive: true, withFileTypes: true })
    return names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  }
  const resticItself = (...args: string[]) =>
    execFileSync(program as string, ['-r', join(folder, 'repository'), ...args], { input: 'a key of 32 bytes\n', stdio: 'pipe' })
  const otherRestic = () => ({ RESTIC_PASSWORD: aRepository().password, RESTIC_CACHE_DIR: join(folder, 'other-cache') })
  const listed = async () => (await store().list(aRepository())).map(({ id }) => id)
  const notWhole = (what: RegExp) => ({ code: 'SNAPSHOT_FAILED', message: expect.stringMatching(what) })
  beforeEach(async () => {
    aQuickRepository()
    await store().prepare(aRepository())
  })

  test('packs that vanished before it was taken fail it, and after a repair the next one is whole', async () => {
    const { id } = await take()
    for (const pack of await packs()) await rm(pack)
    await writeFile(join(data, 'media', 'b.png'), 'another picture')
    await expect(take()).rejects.toMatchObject(notWhole(/incomplete .*2 packs missing or damaged.*fix: .*docs\/snapshots.md/))
    expect(await listed()).toEqual([id])
    resticItself('repair', 'index')
    resticItself('repair', 'snapshots', '--forget')
    const whole = await take()
    await store().restore(aRepository(), { id: whole.id, path: data, into: join(folder, 'back') })
    expect((await readdir(join(folder, 'back', 'media'))).sort()).toEqual(['a.png', 'b.png'])
  })

  test('a pack of another size fails it', async () => {
    await writeFile(join(data, 'media', 'large'), execFileSync('head', ['-c', '300000', '/dev/urandom']))
    await take()
    for (const pack of await packs()) if ((await stat(pack)).size > 300_000) await truncate(pack, 1_000)
    await expect(take()).rejects.toMatchObject(notWhole(/1 pack missing or damaged/))
  })

  test('packs that only older snapshots need do not', async () => {
    await writeFile(join(data, 'media', 'old'), execFileSync('head', ['-c', '300000', '/dev/urandom']))
    const { id } = await take()
    const ofOld = await packs()
    await rm(join(data, 'media'), { recursive: true })
    await writeFile(join(data, 'new'), 'new')
    await take()
    for (const pack of ofOld) await rm(pack)
    const whole = await take()
    expect(await listed()).toEqual([id, expect.any(String), whole.id])
  })

  test('waits for the lock of another restic, reports its process, and goes on once it is free', async () => {
    const other = spawn(program as string, ['-r', join(folder, 'repository'), 'check'], { env: { ...process.env, ...otherRestic() } })
    const locks = () => readdir(join(folder, 'repository', 'locks'))
    await vi.waitFor(async () => expect(await locks()).toHaveLength(1), { timeout: 10_000, interval: 2 })
    other.kill('SIGSTOP')
    const waits: (string | undefined)[] = []
    const onWaiting = (reason: string | undefined) => {
      waits.push(reason)
      other.kill('SIGCONT')
    }
    await expect(take({ onWaiting })).resolves.toMatchObject({ files: 1 })
    const reason = expect.stringMatching(`^the lock of another restic, PID ${other.pid} on \\S+, on file:.* \\(fails after 2s\\)$`)
    expect(waits).toEqual([reason, undefined])
  })

  describe('that begins before its files are complete', () => {
    const opened = () => vi.waitFor(async () => expect(await readdir(join(folder, 'repository', 'locks'))).toHaveLength(1), 10_000)

    test('has opened its repository, and reads them once they are', async () => {
      const path = join(data, 'manifest.json')
      const complete = async () => {
        await opened()
        await writeFile(path, 'late')
        return { path, sha256: sha256Hex('late') }
      }
      await expect(take({ sample: complete() })).resolves.toMatchObject({ files: 2 })
    })

    test('ends without a snapshot if they never are', async () => {
      const fails = async () => {
        await opened()
        throw new Error('no dump')
      }
      await expect(take({ sample: fails() })).rejects.toThrow('no dump')
      expect(await listed()).toEqual([])
      expect(await readdir(join(folder, 'repository', 'locks'))).toEqual([])
    })

    test('ends at once when it is aborted', async () => {
      const abort = new AbortController()
      const taking = store().take(aRepository(), aRequest({ sample: new Promise(() => undefined) }), abort.signal)
      taking.catch(() => undefined)
      await opened()
      const begun = performance.now()
      abort.abort(new Error('stopped'))
      await expect(taking).rejects.toThrow('stopped')
      // restic that waits for the pipe would be killed after ten seconds.
      expect(performance.now() - begun).toBeLessThan(9_000)
      expect(await readdir(join(folder, 'repository', 'locks'))).toEqual([])
      expect((await readdir(join(folder, 'cache'))).filter((name) => name.startsWith('gate'))).toEqual([])
    })

    test('does not wait for them if its store fails', async () => {
      await rm(join(folder, 'repository', 'config'))
      await expect(take({ sample: new Promise(() => undefined) })).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_LOST' })
    })
  })

  test('its sample is read back and compared', async () => {
    const path = join(data, 'media', 'a.png')
    const sha256 = sha256Hex('a picture')
    await expect(take({ sample: Promise.resolve({ path, sha256 }) })).resolves.toMatchObject({ files: 1 })
    await expect(take({ sample: Promise.resolve({ path, sha256: sha256Hex('another') }) })).rejects.toMatchObject(
      notWhole(/cannot be read back/),
    )
    await expect(take({ sample: Promise.resolve({ path: join(data, 'none'), sha256 }) })).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
  })
})

test('packs that a prune moves while a snapshot is verified do not fail it', async () => {
  const missing = `echo '{"message_type":"error","message":"pack ${'ab'.repeat(32)}: does not exist"}' >&2; exit 1`
  const moved = await fakeRestic(
    `echo "$*" >> ${join(folder, 'calls')}\ncase "$*" in "check --json --no-lock"*) ${missing};; esac\necho '{"message_type":"summary","snapshot_id":"s1","total_files_processed":1}'`,
  )
  await expect(storeOf(moved).take(aRepository(), aRequest())).resolves.toMatchObject({ id: 's1' })
  const checks = (await readFile(join(folder, 'calls'), 'utf8')).match(/^check.*$/gm)
  expect(checks).toEqual(['check --json --no-lock --with-cache', 'check --json --with-cache'])
})

describe('restic as a program', () => {
  test('one that is missing is unusable', async () => {
    await expect(storeOf(join(folder, 'no-restic')).version()).rejects.toMatchObject({ code: 'RESTIC_UNUSABLE' })
  })

  test('one without telling exit codes is too old', async () => {
    const old = await fakeRestic('exit 1')
    await writeFile(old, '#!/bin/sh\necho "restic 0.14.0 compiled with go1.19"\n')
    const tooOld = { code: 'RESTIC_UNUSABLE', message: expect.stringContaining('0.14.0') }
    await expect(storeOf(old).version()).rejects.toMatchObject(tooOld)
    await expect(storeOf(old).prepare(aRepository())).rejects.toMatchObject(tooOld)
  })

  test('it gets the password through stdin and nothing of the agent through its environment or arguments', async () => {
    process.env.AGENT_SECRET = 'not for children'
    const fake = await fakeRestic(
      `{ env; echo "args: $*"; echo "password: $(cat)"; } > ${join(folder, 'seen')}; echo '{"message_type":"summary","snapshot_id":"s1","total_files_processed":1}'`,
    )
    await storeOf(fake).take(aRepository({ env: { AWS_ACCESS_KEY_ID: 'id' } }), aRequest())
    const seen = await readFile(join(folder, 'seen'), 'utf8')
    expect(seen).toContain('password: a key of 32 bytes')
    expect(seen.split('\n').filter((line) => line.includes('a key of 32 bytes'))).toHaveLength(1)
    expect(seen).toContain('AWS_ACCESS_KEY_ID=id')
    expect(seen).toContain(`RESTIC_REPOSITORY=${join(folder, 'repository')}`)
    expect(seen).not.toContain('not for children')
    delete process.env.AGENT_SECRET
  })

  test('it tries the key first that the password of this repository opened', async () => {
    const keys = '[{"current":false,"id":"k1"},{"current":true,"id":"k2"}]'
    const fake = await fakeRestic(
      `echo "$1 $RESTIC_KEY_HINT" >> ${join(folder, 'calls')};[ "$1" = cat ] && echo '{"id":"r"}' && exit; [ "$1" = key ] && echo '${keys}' && exit; echo '{"message_type":"summary","snapshot_id":"s1","total_files_processed":1}'`,
    )
    const store = storeOf(fake)
    await store.prepare(aRepository())
    await store.take(aRepository(), aRequest({ warm: true }))
    await store.take(aRepository({ repository: `file:${join(folder, 'other')}` }), aRequest({ warm: true }))
    expect((await readFile(join(folder, 'calls'), 'utf8')).split('\n')).toEqual(['cat ', 'key ', 'backup k2', 'backup ', ''])
  })

  const codes: [what: string, script: string, code: string][] = [
    [
      'exit code 3, not everything read',
      'echo \'{"message_type":"summary","snapshot_id":"s1","total_files_processed":1}\'; exit 3',
      'SNAPSHOT_FAILED',
    ],
    ['exit code 0 without a summary', 'exit 0', 'SNAPSHOT_FAILED'],
    ['exit code 11, locked', 'exit 11', 'SNAPSHOT_FAILED'],
    ['exit code 12, wrong password', 'exit 12', 'BACKUP_KEY_INVALID'],
    ['no space left', 'echo "write /x: no space left on device" >&2; exit 1', 'DISK_FULL'],
    ['no connection', 'echo "dial tcp 10.0.0.1:443: connect: connection refused" >&2; exit 1', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['no bucket', 'echo "Stat: The specified bucket does not exist" >&2; exit 1', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['death by a signal', 'kill -9 $$', 'SNAPSHOT_FAILED'],
  ]
  test.each(codes)('%s fails the snapshot', async (_, script, code) => {
    await expect(storeOf(await fakeRestic(script)).take(aRepository(), aRequest())).rejects.toMatchObject({ code })
  })

  test('a warm snapshot may lack what vanished while the box served', async () => {
    const fake = await fakeRestic('echo \'{"message_type":"summary","snapshot_id":"s1","total_files_processed":1}\'; exit 3')
    expect(await storeOf(fake).take(aRepository(), aRequest({ warm: true }))).toMatchObject({ id: 's1' })
  })

  describe('when not all could be read', () => {
    /** Exits with the given codes in turn; each `backup` creates a snapshot. Records its arguments. */
    const endingWith = (codes: readonly number[]) =>
      fakeRestic(`
echo "$*" >> ${join(folder, 'calls')}
[ "$1" = backup ] || exit 0
n=$(grep -c ^backup ${join(folder, 'calls')})
echo "{\\"message_type\\":\\"summary\\",\\"snapshot_id\\":\\"s$n\\",\\"total_files_processed\\":1}"
exit $(echo "${codes.join(' ')}" | cut -d' ' -f$n)`)
    const calls = async () => (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n')
    const forgotten = async () => (await calls()).filter((call) => call.startsWith('forget'))

    test('a live snapshot is taken again, and the first is forgotten', async () => {
      const store = storeOf(await endingWith([3, 0]))
      expect(await store.take(aRepository(), aRequest({ live: true }))).toMatchObject({ id: 's2' })
      expect(await forgotten()).toEqual(['forget -- s1'])
    })

    test('a live snapshot that lacks something again fails, and neither stays on the list', async () => {
      const store = storeOf(await endingWith([3, 3, 0]))
      await expect(store.take(aRepository(), aRequest({ live: true }))).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
      expect((await calls()).filter((call) => call.startsWith('backup'))).toHaveLength(2)
      expect(await forgotten()).toEqual(['forget -- s1 s2'])
    })

    test('a snapshot under a fence fails at once: nothing may vanish there', async () => {
      const store = storeOf(await endingWith([3, 0]))
      await expect(store.take(aRepository(), aRequest())).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
      expect(await forgotten()).toEqual(['forget -- s1'])
    })
  })
})

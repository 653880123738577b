import { execFileSync, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { maintainRepository, type Repository, type ResticOptions, resticMaintenance } from '../../../src/node/restic/index.ts'
import { quickRepository } from '../../agent/snapshots/quick-repository.ts'
import { resticProgram } from '../../agent/snapshots/restic-program.ts'

const program = resticProgram()

let folder: string
let repository: Repository
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-care-'))
  repository = { repository: `file:${join(folder, 'repository')}`, password: 'a key', env: {}, mayCreate: true }
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const careWith = (options: Partial<ResticOptions> = {}) =>
  resticMaintenance({
    program: program ?? 'restic',
    cacheFolder: join(folder, 'cache'),
    lockTimeout: '2s',
    storeTimeoutMs: 20_000,
    ...options,
  })

/** Plain restic, as a person would run it. */
const restic = (...args: string[]): string =>
  execFileSync(program as string, ['-r', join(folder, 'repository'), '--cache-dir', join(folder, 'cache'), ...args], {
    input: 'a key\n',
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  })

async function aRepository(): Promise<string> {
  quickRepository(program as string, 'a key', join(folder, 'repository'))
  await mkdir(join(folder, 'data'))
  await writeFile(join(folder, 'data', 'a.bin'), execFileSync('head', ['-c', '300000', '/dev/urandom']))
  restic('backup', join(folder, 'data'))
  return (JSON.parse(restic('snapshots', '--json')) as { id: string }[])[0]?.id as string
}

/** Path of the largest pack file. */
async function aPack(): Promise<string> {
  const names = await readdir(join(folder, 'repository', 'data'), { recursive: true })
  const packs = names.filter((name) => /[0-9a-f]{64}$/.test(name)).map((name) => join(folder, 'repository', 'data', name))
  const sizes = await Promise.all(packs.map(async (path) => ({ path, size: (await stat(path)).size })))
  return sizes.sort((a, b) => b.size - a.size)[0]?.path as string
}

describe.skipIf(!program)('a repository that is looked after with a real restic', () => {
  test.each(['forget', 'prune', 'check'] as const)('%s reports whose lock it waits for, and when the wait is over', async (work) => {
    const id = await aRepository()
    const env = { ...process.env, RESTIC_PASSWORD: 'a key', RESTIC_CACHE_DIR: join(folder, 'other-cache') }
    const other = spawn(program as string, ['-r', join(folder, 'repository'), 'check'], { env })
    // A lock that is still written has a longer name.
    const locks = async () => (await readdir(join(folder, 'repository', 'locks'))).filter((name) => /^[0-9a-f]{64}$/.test(name))
    await vi.waitFor(async () => expect(await locks()).toHaveLength(1), { timeout: 10_000, interval: 2 })
    other.kill('SIGSTOP')
    const waits: (string | undefined)[] = []
    const onWaiting = (reason: string | undefined) => {
      waits.push(reason)
      other.kill('SIGCONT')
    }
    const plan = { forget: work === 'forget' ? [id] : [], prune: work === 'prune', check: work === 'check' ? 'structure' : 'none' } as const
    await maintainRepository({ care: careWith({ lockTimeout: '30s' }), repository: { ...repository, onWaiting } }, plan)
    const reason = expect.stringMatching(`^the lock of another restic, PID ${other.pid} on \\S+, on file:.* \\(fails after 30s\\)$`)
    expect(waits).toEqual([reason, undefined])
  })

  test('a pack that is damaged inside is found by reading all, by its name, and by nothing less', async () => {
    await aRepository()
    const pack = await aPack()
    await chmod(pack, 0o600)
    const file = await open(pack, 'r+')
    await file.write(Buffer.from('damage'), 0, 6, 1_000)
    await file.close()
    expect(await careWith().check(repository, 'structure')).toEqual({ ok: true, error: null })
    const { check, present } = await maintainRepository({ care: careWith(), repository }, { forget: [], prune: false, check: 'data' })
    expect(check).toMatchObject({ ok: false, error: { code: 'SNAPSHOT_FAILED', message: expect.stringContaining(pack.slice(-64)) } })
    expect(present).toHaveLength(1)
  })

  test('a pack that is gone is found without reading', async () => {
    await aRepository()
    const pack = await aPack()
    await rm(pack)
    const { ok, error } = await careWith().check(repository, 'structure')
    expect({ ok, error }).toMatchObject({ ok: false, error: { message: expect.stringContaining(pack.slice(-64)) } })
  })

  test.each(['index', 'snapshots'])('a file of the %s that cannot be read back is damage', async (kind) => {
    await aRepository()
    const [name = ''] = await readdir(join(folder, 'repository', kind))
    const path = join(folder, 'repository', kind, name)
    await chmod(path, 0o600)
    await writeFile(path, Buffer.alloc(300, 7))
    await rm(join(folder, 'cache'), { recursive: true })
    expect(await careWith().check(repository, 'structure')).toMatchObject({ ok: false, error: { code: 'SNAPSHOT_FAILED' } })
  })

  test('an index that is gone is damage: nothing is found without it', async () => {
    await aRepository()
    await rm(join(folder, 'repository', 'index'), { recursive: true })
    await mkdir(join(folder, 'repository', 'index'))
    expect(await careWith().check(repository, 'structure')).toMatchObject({ ok: false })
  })

  test('what is forgotten and pruned is freed, and the rest can still be read', async () => {
    const first = await aRepository()
    await writeFile(join(folder, 'data', 'b.bin'), execFileSync('head', ['-c', '400000', '/dev/urandom']))
    await rm(join(folder, 'data', 'a.bin'))
    restic('backup', join(folder, 'data'))
    const tended = await maintainRepository({ care: careWith(), repository }, { forget: [first], prune: true, check: 'data' })
    expect(tended).toMatchObject({ forgotten: [first], check: { ok: true } })
    expect(tended.freedBytes).toBeGreaterThan(250_000)
    expect(tended.present.map(({ tier, commandId, slug }) => [tier, commandId, slug])).toEqual([[null, null, null]])
  })

  test('the lock of a process that died here is taken away; that of a living one is waited for', async () => {
    const id = await aRepository()
    const backup = spawn(program as string, ['-r', join(folder, 'repository'), 'backup', '--stdin'], {
      env: { RESTIC_PASSWORD: 'a key', RESTIC_CACHE_DIR: join(folder, 'cache'), PATH: process.env.PATH },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = new Promise((resolve) => backup.once('exit', resolve))
    await expect.poll(() => readdir(join(folder, 'repository', 'locks'))).toHaveLength(1)
    await expect(careWith().forget(repository, [id])).rejects.toMatchObject({
      code: 'SNAPSHOT_FAILED',
      message: expect.stringContaining('lock'),
    })
    expect(await careWith().list(repository)).toHaveLength(1)
    backup.kill('SIGKILL')
    await ended
    expect(await readdir(join(folder, 'repository', 'locks'))).toHaveLength(1)
    await careWith().forget(repository, [id])
    expect(await careWith().list(repository)).toEqual([])
  })

  test('a wrong key and an unreachable store are reported with their codes and in time', async () => {
    await aRepository()
    const work = { forget: [], prune: true, check: 'none' as const }
    const another = { ...repository, password: 'another' }
    await expect(maintainRepository({ care: careWith(), repository: another }, work)).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID' })
    const away = { ...repository, repository: 's3:http://127.0.0.1:9/b/north', env: { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' } }
    const failed = careWith({ storeTimeoutMs: 1_500 }).list(away)
    await expect(failed).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  })

  test('a recovery key is added once, however often it is asked for', async () => {
    await aRepository()
    const recoverable = { ...repository, recoveryPassword: 'kept in a safe' }
    await careWith().addRecoverySlot(recoverable)
    await careWith().addRecoverySlot(recoverable)
    expect(JSON.parse(restic('key', 'list', '--json'))).toHaveLength(2)
  })
})

describe('arguments and environment of restic', () => {
  test('the recovery key reaches it by a file without a name: it is in no argument, no variable and no folder', async () => {
    const fake = join(folder, 'fake-restic')
    const seen = join(folder, 'seen')
    const script = `[ "$1" = cat ] && exit 12; { echo "args: $*"; env; echo "key: $(cat /dev/fd/3)"; ls -l /proc/self/fd/3; } > ${seen}`
    await writeFile(fake, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    await careWith({ program: fake }).addRecoverySlot({ ...repository, recoveryPassword: 'kept in a safe' })
    const lines = (await readFile(seen, 'utf8')).split('\n')
    expect(lines.filter((line) => line.includes('kept in a safe'))).toEqual(['key: kept in a safe'])
    expect(lines.find((line) => line.includes('/self/fd/3 -> '))).toMatch(/ \/dev\/shm\/.*\(deleted\)$/)
  })

  const pack = 'a'.repeat(64)

  // restic closes each of these with the same words: that the repository is damaged and contains errors.
  test.each([
    ['x509: certificate has expired or is not yet valid', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['Stat: 403 Forbidden', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['ExpiredToken', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['SlowDown: Please reduce your request rate.', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['context deadline exceeded (Client.Timeout exceeded while awaiting headers)', 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['no space left on device', 'DISK_FULL'],
    ['an unknown failure', 'SNAPSHOT_FAILED'],
  ])('a check that %s broke off is %s, and says nothing against the snapshots', async (trouble, code) => {
    const said = [
      `pack ${pack} contains 1 errors: [download error: ${trouble}]`,
      '\nThe repository is damaged and must be repaired.\n',
      'Fatal: repository contains errors',
    ]
    await expect(checkThatSays(said)).rejects.toMatchObject({ code })
  })

  test('damage that was found stays damage when the store breaks off as well', async () => {
    const said = [`pack ${pack}: does not exist`, 'download error: dial tcp 10.0.0.1:443: i/o timeout', 'Fatal: repository contains errors']
    expect(await checkThatSays(said)).toMatchObject({
      ok: false,
      error: { code: 'SNAPSHOT_FAILED', message: expect.stringContaining(pack) },
    })
  })

  async function checkThatSays(said: readonly string[]) {
    const fake = join(folder, 'fake-restic')
    const lines = said.map((message) => JSON.stringify({ message_type: 'error', message }))
    await writeFile(join(folder, 'said'), `${lines.join('\n')}\n`)
    await writeFile(fake, `#!/bin/sh\ncat ${join(folder, 'said')} >&2; exit 1\n`, { mode: 0o755 })
    return careWith({ program: fake }).check(repository, 'data')
  }

  test.each([
    ['s3:http://127.0.0.1:9000/snapshots/north', 's3:http://127.0.0.1:9000/snapshots/north'],
    ['s3:https://store.example/snapshots/north', 's3:https://store.example/snapshots/north'],
    ['file:/srv/snapshots/north', '/srv/snapshots/north'],
    ['file:///srv/snapshots/north', '/srv/snapshots/north'],
  ])('the repository %s is reached as %s', async (given, passed) => {
    const fake = join(folder, 'fake-restic')
    await writeFile(fake, `#!/bin/sh\nenv > ${join(folder, 'seen')}; echo '[]'\n`, { mode: 0o755 })
    await careWith({ program: fake }).list({ ...repository, repository: given })
    expect(await readFile(join(folder, 'seen'), 'utf8')).toContain(`RESTIC_REPOSITORY=${passed}\n`)
  })

  test('one that hangs is ended in its time', async () => {
    const fake = join(folder, 'fake-restic')
    await writeFile(fake, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
    const listed = careWith({ program: fake, storeTimeoutMs: 300 }).list(repository)
    await expect(listed).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  })
})

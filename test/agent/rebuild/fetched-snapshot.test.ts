import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FullManifest } from '../../../src/agent/backup/index.ts'
import { whileVerified } from '../../../src/agent/rebuild/index.ts'
import { problem, sha256Hex } from '../../../src/core/kit/index.ts'

async function aDump() {
  const dumpFolder = await mkdtemp(join(tmpdir(), 'tenantry-fetched-'))
  onTestFinished(() => rm(dumpFolder, { recursive: true, force: true }))
  await writeFile(join(dumpFolder, 'database.dump'), 'rows')
  const manifest = { files: { 'database.dump': { sha256: sha256Hex('rows') } } } as unknown as FullManifest
  return { dumpFolder, manifest }
}

const never = { again: () => Promise.reject(new Error('nothing was damaged')) }
const inVain = { again: async () => undefined }
const twice = { code: 'RESTORE_FAILED', message: expect.stringContaining('fetched twice') }

test('work on an intact dump runs once, and its failure is thrown', async () => {
  const dump = await aDump()
  const done: string[] = []
  await whileVerified(dump, async () => void done.push('loaded'), never)
  expect(done).toEqual(['loaded'])
  await expect(whileVerified(dump, () => Promise.reject(new Error('no room')), never)).rejects.toThrow('no room')
})

test.each([
  ['was damaged', (path: string) => writeFile(path, 'torn')],
  ['is gone', (path: string) => rm(path)],
])('what is done with a dump that %s fails with it, done or not', async (_, harm) => {
  const dump = await aDump()
  await harm(join(dump.dumpFolder, 'database.dump'))
  await expect(whileVerified(dump, async () => undefined, inVain)).rejects.toMatchObject(twice)
  const ended: unknown[] = []
  const untilTold = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        ended.push(signal.reason.code)
        resolve()
      })
    })
  await expect(whileVerified(dump, untilTold, inVain)).rejects.toMatchObject(twice)
  expect(ended).toEqual(['RESTORE_FAILED', 'RESTORE_FAILED'])
})

test.each([
  ['fails over it', () => Promise.reject(problem('RESTORE_FAILED', 'pg_restore ended'))],
  ['does not see it', async () => undefined],
])('a damaged dump is brought again, once, and the work done again, where the work %s', async (_, first) => {
  const dump = await aDump()
  const path = join(dump.dumpFolder, 'database.dump')
  await writeFile(path, 'torn')
  const done: string[] = []
  const again = async () => {
    done.push('brought')
    await writeFile(path, 'rows')
  }
  const work = async () => {
    done.push('worked')
    if (!done.includes('brought')) await first()
  }
  await whileVerified(dump, work, { again })
  expect(done).toEqual(['worked', 'brought', 'worked'])
})

test('work that fails over a whole dump is not done again', async () => {
  const failing = () => Promise.reject(problem('RESTORE_FAILED', 'events has 3 rows instead of 4'))
  await expect(whileVerified(await aDump(), failing, never)).rejects.toThrow('3 rows instead')
})

test('work that fails or is ended waits for no large dump to be read to its end', async () => {
  const dump = await aDump()
  await truncate(join(dump.dumpFolder, 'database.dump'), 2 ** 40)
  await expect(whileVerified(dump, () => Promise.reject(new Error('no room')), never)).rejects.toThrow('no room')
  const drain = new AbortController()
  await expect(whileVerified(dump, async () => drain.abort('drained'), { ...never, signal: drain.signal })).rejects.toBe('drained')
})

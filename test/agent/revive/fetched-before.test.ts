import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { TellingManifest } from '../../../src/agent/backup/index.ts'
import { fetchedBefore, whileProven } from '../../../src/agent/revive/index.ts'
import { sha256Hex } from '../../../src/core/kit/index.ts'

async function aDump() {
  const dumpFolder = await mkdtemp(join(tmpdir(), 'tenantry-fetched-'))
  onTestFinished(() => rm(dumpFolder, { recursive: true, force: true }))
  await writeFile(join(dumpFolder, 'database.dump'), 'rows')
  const manifest = { files: { 'database.dump': { sha256: sha256Hex('rows') } } } as unknown as TellingManifest
  return { dumpFolder, manifest }
}

const notWhole = { code: 'RESTORE_FAILED', message: expect.stringContaining('no longer whole') }

test('what is done with a whole dump is done, and its failure is told', async () => {
  const dump = await aDump()
  const done: string[] = []
  await whileProven(dump, async () => void done.push('loaded'))
  expect(done).toEqual(['loaded'])
  await expect(whileProven(dump, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room')
})

test.each([
  ['was damaged', (path: string) => writeFile(path, 'torn')],
  ['is gone', (path: string) => rm(path)],
])('what is done with a dump that %s fails with it, done or not', async (_, harm) => {
  const dump = await aDump()
  await harm(join(dump.dumpFolder, 'database.dump'))
  await expect(whileProven(dump, async () => undefined)).rejects.toMatchObject(notWhole)
  const ended: unknown[] = []
  const untilTold = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        ended.push(signal.reason.code)
        resolve()
      })
    })
  await expect(whileProven(dump, untilTold)).rejects.toMatchObject(notWhole)
  expect(ended).toEqual(['RESTORE_FAILED'])
})

test('work that fails or is ended waits for no large dump to be read to its end', async () => {
  const dump = await aDump()
  await truncate(join(dump.dumpFolder, 'database.dump'), 2 ** 40)
  await expect(whileProven(dump, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room')
  const drain = new AbortController()
  await expect(whileProven(dump, async () => drain.abort('drained'), drain.signal)).rejects.toBe('drained')
})

test('a dump without its manifest was not fetched before', async () => {
  const { dumpFolder } = await aDump()
  await expect(fetchedBefore(dumpFolder)).rejects.toMatchObject(notWhole)
  await mkdir(join(dumpFolder, 'dump'))
  await writeFile(join(dumpFolder, 'dump', 'manifest.json'), '{"format":')
  await expect(fetchedBefore(dumpFolder)).rejects.toMatchObject(notWhole)
})

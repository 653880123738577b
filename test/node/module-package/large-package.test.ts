import { createHash, randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { maxPackageBytes } from '../../../src/core/modules/index.ts'
import { storedPackage } from '../../../src/daemon/modules/store/stored-package.ts'
import {
  type LoadedModule,
  loadModule,
  moduleText,
  readArchive,
  scanInProcess,
  scanPackage,
} from '../../../src/node/module-package/index.ts'
import { compiled } from '../../support/compiled-program.ts'
import { leastBlock, longestBlock } from '../../support/longest-block.ts'
import { aManifest } from '../../support/modules-world.ts'

/** One file that fills a package at its limit, without compression. */
const content = randomBytes(maxPackageBytes - 1000)
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
let zip: Buffer
/** Time in which the package is hashed at once. */
let hashMs: number

beforeAll(async () => {
  const file = new ZipFile()
  file.addBuffer(content, 'large.bin', { compress: false })
  file.end()
  zip = await buffer(file.outputStream)
  hashMs = Number.POSITIVE_INFINITY
  for (let n = 0; n < 3; n++) hashMs = Math.min(hashMs, await longestBlock(async () => sha256(zip)))
})

test('a package at the limit is read without blocking the thread', async () => {
  const read: [string, string][] = []
  let archive: Awaited<ReturnType<typeof readArchive>> | undefined
  const blockMs = await leastBlock(hashMs / 2, async () => {
    read.length = 0
    archive = await readArchive(zip, ({ name, sha256: hash }) => void read.push([name, hash]))
  })
  expect(archive).toEqual({ files: 1, bytes: content.length, findings: [] })
  expect(read).toEqual([['large.bin', sha256(content)]])
  expect(blockMs).toBeLessThan(hashMs / 2)
})

test('a package from the store is hashed without blocking the thread', async () => {
  const get = async () =>
    (async function* () {
      for (let at = 0; at < zip.length; at += 65_536) {
        await new Promise(setImmediate)
        yield zip.subarray(at, at + 65_536)
      }
    })()
  let stored: Awaited<ReturnType<typeof storedPackage>>
  const blockMs = await leastBlock(hashMs / 2, async () => {
    stored = await storedPackage({ objects: { get } as never }, 'art_1')
  })
  expect(stored?.bytes.equals(zip)).toBe(true)
  expect(stored?.sha256).toBe(sha256(zip))
  expect(blockMs).toBeLessThan(hashMs / 2)
})

test('threads share a package from the store: 50 MB are not copied for the scan, which reports the same', async () => {
  const file = new ZipFile()
  file.addBuffer(Buffer.from(JSON.stringify(aManifest())), 'module.json')
  file.addBuffer(Buffer.from(`${'// code\n'.repeat(1000)}export const on = {}\n`), 'index.js')
  file.addBuffer(Buffer.from('export const stored = 1'), 'stored.js', { compress: false })
  file.end()
  const sent = await buffer(file.outputStream)
  const objects = {
    get: async () =>
      (async function* () {
        yield sent
      })(),
  }
  const stored = await storedPackage({ objects } as never, 'art_1')
  const bytes = stored?.bytes as Buffer
  expect(bytes.buffer).toBeInstanceOf(SharedArrayBuffer)
  const report = await scanInProcess(bytes, { program: compiled('node/module-package/scan-program.js') })
  expect(report).toEqual(await scanPackage(sent))
  expect([report.ok, report.files.length]).toEqual([true, 3])
})

test('code at the limit is decoded without blocking the thread', async () => {
  const code = { name: 'index.js', bytes: Buffer.from(`// ${'ä'.repeat(40)}\n`.repeat(230_000)) }
  const manifest = { name: 'module.json', bytes: Buffer.from(JSON.stringify(aManifest())) }
  let atOnce = ''
  const decodeMs = await longestBlock(async () => {
    atOnce = moduleText(code)
  })
  let loaded: LoadedModule | undefined
  const blockMs = await leastBlock(decodeMs / 2, async () => {
    loaded = await loadModule([manifest, code])
  })
  expect(loaded?.files['index.js'] === atOnce).toBe(true)
  expect(blockMs).toBeLessThan(decodeMs / 2)
  const damaged = { ...code, bytes: Buffer.from([0x61, 0xff]) }
  await expect(loadModule([manifest, damaged])).rejects.toMatchObject({ code: 'MODULE_INVALID' })
})

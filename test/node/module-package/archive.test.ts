import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { moduleText, readArchive, scanInProcess, scanPackage, zipOf } from '../../../src/node/module-package/index.ts'
import { compiled } from '../../support/compiled-program.ts'

type Raw = Readonly<{
  name: string
  content?: string | Buffer
  mode?: number
  size?: number
  flags?: number
  checksum?: number
  method?: number
}>

/** A zip with any names, modes, flags and stated sizes: libraries that write zips refuse most of them. */
function rawZip(entries: readonly Raw[]): Buffer {
  const [locals, centrals]: [Buffer[], Buffer[]] = [[], []]
  let offset = 0
  const packedOnce = new Map<string | Buffer, Buffer>()
  for (const { name, content = 'x', mode = 0o100644, size, flags = 0, checksum, method = 8 } of entries) {
    const [bytes, path] = [Buffer.from(content), Buffer.from(name)]
    const packed = packedOnce.get(content) ?? deflateRawSync(bytes)
    packedOnce.set(content, packed)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(checksum ?? crc32(bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(size ?? bytes.length, 18)
    common.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from('504b0304', 'hex'), common, path, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE((mode << 16) >>> 0, 6)
    rest.writeUInt32LE(offset, 10)
    centrals.push(Buffer.concat([Buffer.from('504b0102', 'hex'), Buffer.from([20, 3]), common, rest, path]))
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(centrals)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, central, end])
}

async function rulesOf(zip: Buffer): Promise<readonly string[]> {
  const { findings } = await readArchive(zip, () => undefined)
  return findings.map(({ rule }) => rule)
}

const manifest = { name: 'module.json', content: '{"type":"A"}' }
const main = { name: 'index.js', content: 'export const on = {}' }

describe('an archive that could harm a reader is refused', () => {
  test.each([
    ['a path upwards', [{ name: '../index.js' }], 'archive-unreadable'],
    [
      'a file that was changed on its way',
      [{ name: 'index.js', content: 'changed', checksum: crc32(Buffer.from('original')) }],
      'archive-unreadable',
    ],
    ['an absolute path', [{ name: '/etc/passwd' }], 'archive-unreadable'],
    ['a drive', [{ name: 'C:/x.js' }], 'archive-unreadable'],
    ['a backslash', [{ name: 'a\\b.js' }], 'archive-unreadable'],
    ['a control character', [{ name: 'a\u0001.js' }], 'archive-name'],
    ['a name in other letters', [{ name: 'indеx.js' }], 'archive-name'],
    ['a hidden file', [{ name: '.npmrc' }], 'archive-name'],
    ['a name that ends with a dot', [{ name: 'a./b.js' }], 'archive-name'],
    ['a name of 300 characters', [{ name: 'a'.repeat(300) }], 'archive-name'],
    ['a name twice', [main, main], 'archive-duplicate'],
    ['names that differ in case', [{ name: 'lib/a.js' }, { name: 'Lib/A.js' }], 'archive-duplicate'],
    ['a file that is also a folder', [{ name: 'lib' }, { name: 'lib/a.js' }], 'archive-duplicate'],
    ['a folder that is also a file', [{ name: 'lib/a.js' }, { name: 'lib' }], 'archive-duplicate'],
    ['a symbolic link', [{ name: 'a.js', content: '/etc/passwd', mode: 0o120777 }], 'archive-link'],
    ['a device', [{ name: 'a.js', mode: 0o060644 }], 'archive-link'],
    ['bzip2', [{ name: 'a.js', method: 12 }], 'archive-compression'],
    ['LZMA', [{ name: 'a.js', method: 14 }], 'archive-compression'],
    ['an encrypted file', [{ name: 'a.js', flags: 1 }], 'archive-encrypted'],
    ['a stated size that is too small', [{ name: 'a.js', content: 'x'.repeat(1000), size: 10 }], 'archive-unreadable'],
    ['a stated size that is too large', [{ name: 'a.js', content: 'x', size: 1000 }], 'archive-unreadable'],
    ['a file of more than 50 MB', [{ name: 'a.bin', size: 50 * 1024 * 1024 + 1 }], 'archive-limit'],
    ['a bomb', [{ name: 'a.txt', content: Buffer.alloc(5_000_000) }], 'archive-limit'],
  ])('%s', async (_, entries, rule) => {
    expect(await rulesOf(rawZip(entries))).toEqual([rule])
  })

  test('more than 5,000 files', async () => {
    expect(await rulesOf(rawZip(Array.from({ length: 5001 }, (_, n) => ({ name: `f${n}.js` }))))).toEqual(['archive-limit'])
  })

  test('more than 200 MB in all, in files that each are small enough', async () => {
    const content = Buffer.alloc(9_000_000)
    for (let at = 0; at < content.length; at++) content[at] = (at * 2654435761) >>> 24
    const files = Array.from({ length: 23 }, (_, n) => ({ name: `f${n}.txt`, content }))
    const zip = await rulesOf(rawZip(files))
    expect(zip).toEqual(['archive-limit'])
  })

  test('more than 50 MiB, without reading it', async () => {
    expect(await rulesOf(Buffer.alloc(50 * 1024 * 1024))).toEqual(['archive-unreadable'])
    expect(await rulesOf(Buffer.alloc(50 * 1024 * 1024 + 1))).toEqual(['archive-limit'])
  })

  test('what is no zip', async () => {
    expect(await rulesOf(Buffer.from('PK, but no more'))).toEqual(['archive-unreadable'])
  })
})

test('the same files make the same bytes, and are read as they are', async () => {
  const files = [manifest, main].map(({ name, content }) => ({ name, bytes: Buffer.from(content) }))
  const [zip, again] = [await zipOf(files), await zipOf(files)]
  expect(zip.equals(again)).toBe(true)
  const read: string[] = []
  const archive = await readArchive(zip, ({ name, bytes }) => void read.push(`${name} ${bytes}`))
  expect(archive).toMatchObject({ files: 2, bytes: manifest.content.length + main.content.length, findings: [] })
  expect(read).toEqual(['module.json {"type":"A"}', 'index.js export const on = {}'])
})

describe('the scan of a package', () => {
  test('a clean package is ok; its report names each file with its hash', async () => {
    const report = await scanPackage(rawZip([manifest, main]))
    expect(report).toMatchObject({ ok: true, violations: [], manifest: manifest.content })
    expect(report.files.map(({ name, sha256 }) => [name, sha256.length])).toEqual([
      ['module.json', 64],
      ['index.js', 64],
    ])
  })

  test('a byte order mark in manifest, package.json and code is no fault; a manifest that is not UTF-8 is named as such', async () => {
    const marked = ['module.json', 'package.json', 'index.js'].map((name) => ({
      name,
      content: `\ufeff${name === 'index.js' ? main.content : '{"type":"A"}'}`,
    }))
    const report = await scanPackage(rawZip(marked))
    expect(report).toMatchObject({ ok: true, violations: [], manifest: '{"type":"A"}' })
    const read = marked.map(({ name, content }) => ({ name, bytes: Buffer.from(content) }))
    expect(read.map(moduleText)).toEqual(['{"type":"A"}', '{"type":"A"}', main.content])
    const damaged = { name: 'module.json', content: Buffer.from('{"type":"A","name":"T\u00fcr"}', 'latin1') }
    expect((await scanPackage(rawZip([damaged, main]))).violations.map(({ rule }) => rule)).toEqual(['not-utf8'])
    expect(() => moduleText({ name: damaged.name, bytes: damaged.content })).toThrow('module.json: line 1 is not UTF-8. fix:')
  })

  test('child_process behind a computed name is found with file, line and column', async () => {
    const hidden = { name: 'lib/x.js', content: `const n = ['child', 'process'].join('_')\nexport default await import(n)` }
    const { ok, violations } = await scanPackage(rawZip([manifest, main, hidden]))
    expect(ok).toBe(false)
    expect(violations).toEqual([
      { rule: 'import-not-literal', file: 'lib/x.js', line: 2, column: 29, message: 'The name of an import must be a literal' },
    ])
  })

  test('a package without manifest or main is refused', async () => {
    expect((await scanPackage(rawZip([main]))).violations.map(({ rule }) => rule)).toEqual(['manifest-missing'])
    expect((await scanPackage(rawZip([manifest]))).violations.map(({ rule }) => rule)).toEqual(['main-missing'])
  })

  test('a million findings are cut', async () => {
    const zip = new ZipFile()
    for (let n = 0; n < 50; n++) zip.addBuffer(Buffer.from('eval()\n'.repeat(10_000)), `f${n}.js`)
    zip.end()
    const parts: Buffer[] = []
    for await (const part of zip.outputStream as AsyncIterable<Buffer>) parts.push(part)
    expect((await scanPackage(Buffer.concat(parts))).violations).toHaveLength(200)
  })
})

describe('in a process of its own', () => {
  let program: string
  beforeAll(() => {
    program = compiled('node/module-package/scan-program.js')
  })

  test('the report is the same', async () => {
    const zip = rawZip([manifest, main, { name: 'a.js', content: 'eval(1)' }])
    expect(await scanInProcess(zip, { program })).toEqual(await scanPackage(zip))
  })

  test('a scan that takes too long is a violation', async () => {
    const zip = await zipOf(Array.from({ length: 200 }, (_, n) => ({ name: `f${n}.js`, bytes: Buffer.from('a=[1,2];'.repeat(20_000)) })))
    const report = await scanInProcess(zip, { program, timeoutMs: 300 })
    expect(report).toMatchObject({ ok: false, violations: [{ rule: 'archive-unreadable' }] })
  })

  test('a scan that ends its process is a violation, and the process of the daemon goes on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'scan-'))
    const greedy = join(folder, 'greedy.mjs')
    await writeFile(greedy, 'process.abort()')
    const report = await scanInProcess(rawZip([manifest]), { program: greedy })
    expect(report.violations).toMatchObject([
      { rule: 'archive-unreadable', message: expect.stringContaining('the scan needs too much memory') },
    ])
    await writeFile(greedy, 'process.exit(3)')
    await expect(scanInProcess(rawZip([manifest]), { program: greedy })).rejects.toThrow('ended with code 3')
  })

  test('a scan has no environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'scan-'))
    const shows = join(folder, 'shows.mjs')
    await writeFile(shows, 'process.send(Object.keys(process.env))')
    expect(await scanInProcess(rawZip([manifest]), { program: shows })).toEqual(expect.not.arrayContaining(['PATH', 'HOME', 'TMPDIR']))
  })

  test('a cancelled scan ends', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'))
    await expect(scanInProcess(rawZip([manifest]), { program, signal })).rejects.toThrow('cancelled')
  })
})

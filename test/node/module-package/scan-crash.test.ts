import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { zipOf } from '../../../src/node/module-package/index.ts'
import { compiled } from '../../support/compiled-program.ts'

beforeAll(() => void compiled(''))

/** The violations of a scan in a process that stands for the daemon: where the scan ends it, this fails. */
async function rulesOf(file: Readonly<{ name: string; bytes: Buffer }>): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-scan-'))
  await writeFile(join(folder, 'p.zip'), await zipOf([{ name: 'module.json', bytes: Buffer.from('{"type":"B"}') }, file]))
  const script = `
    import { readFileSync } from 'node:fs'
    import { scanInProcess } from '${compiled('node/module-package/index.js')}'
    const report = await scanInProcess(readFileSync('${join(folder, 'p.zip')}'))
    console.log(JSON.stringify(report.violations.map(({ rule, file }) => [rule, file])))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return JSON.parse(stdout)
}

/** Compresses less than 100 times. */
const padding = Buffer.from(Array.from({ length: 40_000 }, (_, n) => `${Math.imul(n, 2_654_435_761) >>> 0} `).join(''))
const packed = (...parts: readonly (Buffer | string)[]) =>
  Buffer.concat([...parts.map((part) => Buffer.from(part)), padding, padding, padding])

test('a text of millions of lines does not end the process', async () => {
  expect(await rulesOf({ name: 'a.md', bytes: packed('\u200e', Buffer.alloc(48_000_000, '\n')) })).toEqual([['hidden-characters', 'a.md']])
})

test('a text of millions of hidden characters has the findings of a reviewer', async () => {
  const found = (await rulesOf({ name: 'a.md', bytes: packed('\u200e\n'.repeat(2_000_000)) })) as unknown[]
  expect(found).toEqual(Array.from({ length: 200 }, () => ['hidden-characters', 'a.md']))
})

test('a package.json of millions of values is not parsed', async () => {
  const bytes = Buffer.from(`[${'{},'.repeat(100_000)}1]`)
  expect(await rulesOf({ name: 'package.json', bytes })).toEqual([['archive-limit', 'package.json']])
})

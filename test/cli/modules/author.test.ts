import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { scanPackage } from '../../../src/node/module-package/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { compiled } from '../../support/compiled-program.ts'

let program: string
let folder: string
let dir: string

beforeAll(async () => {
  program = compiled('modules-author.js')
  await writeFile(program, `const { main } = await import(${JSON.stringify(compiled('cli/main.js'))})\nprocess.exitCode = await main()\n`)
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-author-'))
  dir = join(folder, 'attendance')
})

type Ended = Readonly<{ exit: number; stdout: string; stderr: string }>

/** The compiled program, with the real sandbox and its threads. */
const run = (...line: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH ?? '', XDG_CONFIG_HOME: folder } }
    execFile(process.execPath, [program, ...line], options, (error, stdout, stderr) =>
      resolve({ exit: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })

const edit = async (file: string, change: (text: string) => string) =>
  writeFile(join(dir, file), change(await readFile(join(dir, file), 'utf8')))

describe('from nothing to a package, without a daemon', () => {
  test('a new module passes its check and its test, and packs the same bytes each time', async () => {
    expect(await run('modules', 'init', 'attendance')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('next: tenantry modules test attendance'),
    })
    const checked = await run('modules', 'check', 'attendance', '--json')
    expect(JSON.parse(checked.stdout)).toMatchObject({ ok: true, id: 'attendance', version: '0.1.0', files: 5, violations: [] })
    const tested = await run('modules', 'test', 'attendance', '--json')
    expect(JSON.parse(tested.stdout)).toMatchObject({
      ok: true,
      ran: [
        { step: 'exports', ok: true },
        { step: 'migration 1', ok: true, calls: 1 },
        { step: 'event space.created', ok: true, calls: 4 },
        { step: 'request GET /', ok: true },
        { step: 'request GET /other', ok: true },
      ],
      log: ['event space.created: spaces counted: 1'],
    })
    const packed = JSON.parse((await run('modules', 'pack', 'attendance', '--json')).stdout)
    expect(packed).toMatchObject({ file: 'attendance-0.1.0.zip' })
    const zip = await readFile(join(folder, 'attendance-0.1.0.zip'))
    expect(await scanPackage(zip)).toMatchObject({ ok: true, checksum: packed.sha256 })
    expect(JSON.parse((await run('modules', 'pack', 'attendance', '--out', 'again.zip', '--json')).stdout).sha256).toBe(packed.sha256)
  })

  test('a failed expectation, a refused permission and an endless loop each fail the test and say why', async () => {
    await run('modules', 'init', 'attendance')
    await edit('samples.json', (text) => text.replace('"count": 1', '"count": 2'))
    expect(await run('modules', 'test', 'attendance')).toMatchObject({
      exit: 5,
      stdout: expect.stringContaining('document count: expected 2, found 1'),
    })
    await edit('index.js', (text) => text.replace('svc.log(', 'await svc.spaces.list().catch(() => 0)\n    svc.log('))
    expect(await run('modules', 'test', 'attendance')).toMatchObject({
      exit: 5,
      stdout: expect.stringContaining('permission: svc.spaces.list needs the permission spaces:read'),
    })
    await edit('index.js', (text) => text.replace('svc.log(', 'for (;;);\n    svc.log('))
    const ended = await run('modules', 'test', 'attendance')
    expect(ended).toMatchObject({ exit: 5, stdout: expect.stringContaining('interpreter_time: more than 500 ms') })
  })
})

describe('the check', () => {
  test('forbidden code has its place, and is not packed', async () => {
    await tenantry(['modules', 'init', dir])
    await edit('index.js', (text) => `${text}\nexport const x = await import('node:' + 'fs')\n`)
    const checked = await tenantry(['modules', 'check', dir])
    expect(checked.exit).toBe(5)
    expect(checked.stdout).toMatch(/index\.js:25:31 +import-not-literal/)
    const packed = await tenantry(['modules', 'pack', dir, '--out', join(folder, 'x.zip')])
    expect(packed).toMatchObject({ exit: 5, stderr: expect.stringContaining('SCAN_FAILED') })
    expect(packed.stderr).toContain('index.js:25:31')
    await expect(readFile(join(folder, 'x.zip'))).rejects.toThrow()
  })

  test.each([
    ['a wrong field', (text: string) => text.replace('"0.1.0"', '"1"'), 'version must be a version'],
    ['no JSON', () => '{', 'module.json is not JSON'],
    ['another interface', (text: string) => text.replace('>=1.0.0', '>=2.0.0'), 'INCOMPATIBLE'],
  ])('%s in the manifest is named', async (_, change, message) => {
    await tenantry(['modules', 'init', dir])
    await edit('module.json', change)
    expect(await tenantry(['modules', 'check', dir])).toMatchObject({ exit: 5, stderr: expect.stringContaining(message) })
  })

  test('a folder without a module, a link and a folder that does not exist have a message each', async () => {
    await mkdir(dir)
    expect((await tenantry(['modules', 'check', dir])).stderr).toContain('tenantry modules init')
    await symlink('/etc/passwd', join(dir, 'index.js'))
    expect((await tenantry(['modules', 'check', dir])).stderr).toContain('is a link')
    const missing = await tenantry(['modules', 'check', join(folder, 'nothing')])
    expect(missing).toMatchObject({ exit: 3, stderr: expect.stringContaining('does not exist') })
  })
})

test('init refuses a folder with files, and a name that is no id', async () => {
  await tenantry(['modules', 'init', dir])
  expect(await tenantry(['modules', 'init', dir])).toMatchObject({ exit: 5, stderr: expect.stringContaining('has files') })
  expect(await tenantry(['modules', 'init', join(folder, 'My Module')])).toMatchObject({ exit: 2, stderr: expect.stringContaining('--id') })
  expect((await tenantry(['modules', 'init', join(folder, 'My Module'), '--id', 'my-module'])).exit).toBe(0)
})

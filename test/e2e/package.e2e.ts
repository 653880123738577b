import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { gte } from 'semver'
import { afterAll, beforeAll, expect, test } from 'vitest'

// What a release hands out, packed from the last build and installed as operators do.

type Locked = { packages: Record<string, { version?: string; dev?: boolean }> }

let folder: string
const packed = (name: string) => join(folder, 'packages', `${name}-0.1.0.tgz`)
const fileOf = async (name: string, path: string) => (await execa('tar', ['-xzOf', packed(name), `package/${path}`])).stdout
const filesOf = async (name: string) => (await execa('tar', ['-tzf', packed(name)])).stdout.split('\n')

/** As docs/operating.md says. Returns the folder. */
async function install(name: string): Promise<string> {
  const into = join(folder, name)
  await mkdir(into)
  await execa('tar', ['-xzf', packed(name), '--strip-components=1', '-C', into])
  await execa('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--prefix', into])
  return into
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-package-'))
  await execa(process.execPath, ['scripts/package.js', join(folder, 'packages')])
})
afterAll(() => rm(folder, { recursive: true }))

test.each([
  ['tenantry', 12],
  ['tenantry-agent', 1],
])('%s has no tests, no sources and no maps, and is below %s MB', async (name, maxMb) => {
  const unwanted = /(^package\/(test|src|bench|node_modules)\/)|\.(map|tsx?|tsbuildinfo)$/
  expect((await filesOf(name)).filter((path) => unwanted.test(path) && !path.startsWith('package/types/'))).toEqual([])
  expect((await stat(packed(name))).size).toBeLessThan(maxMb * 1024 * 1024)
})

test.each(['tenantry', 'tenantry-agent'])('%s pins the versions of the lockfile, without what only developers need', async (name) => {
  const { packages: ours } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Locked
  const { packages } = JSON.parse(await fileOf(name, 'npm-shrinkwrap.json')) as Locked
  const paths = Object.keys(packages).filter((path) => path !== '')
  expect(paths.length).toBeGreaterThan(100)
  expect(paths.filter((path) => packages[path]?.version !== ours[path]?.version || ours[path]?.dev)).toEqual([])
})

test('every file is covered by the checksums, and each package has a bill of materials', async () => {
  const { stdout } = await execa('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'packages') })
  expect(stdout.split('\n').sort()).toEqual(
    ['tenantry-0.1.0.sbom.json', 'tenantry-0.1.0.tgz', 'tenantry-agent-0.1.0.sbom.json', 'tenantry-agent-0.1.0.tgz'].map(
      (one) => `${one}: OK`,
    ),
  )
  const { components } = JSON.parse(await readFile(join(folder, 'packages/tenantry-0.1.0.sbom.json'), 'utf8'))
  expect(components.map(({ name }: { name: string }) => name)).toContain('kysely')
})

test('the three programs start, and the daemon serves where Node.js has a SQLite', async () => {
  const into = await install('tenantry')
  for (const program of ['tenantryd', 'tenantry-agent', 'tenantry'])
    expect((await execa(join(into, 'bin', `${program}.js`), ['--version'])).stdout).toMatch(/^0\.1\.0\+\w+/)
  const env = { TENANTRY_DATA_DIR: join(folder, 'data'), TENANTRY_LISTEN: '127.0.0.1:0' }
  const daemon = execa(join(into, 'bin/tenantryd.js'), ['serve'], { env, reject: false, all: true })
  if (gte(process.versions.sqlite ?? '0.0.0', '3.51.3')) {
    for await (const line of daemon.iterable({ from: 'all' })) if (line.includes('tenantryd is ready')) daemon.kill()
    expect(await daemon).toMatchObject({ exitCode: 0 })
  } else {
    // npm ran no script, so the driver for this Node.js was not built.
    expect((await daemon).all).toMatch(/SQLite is not available: Node\.js .* fix: install Node\.js/)
  }
})

test('the agent alone starts, in at most 60 MB', async () => {
  const into = await install('tenantry-agent')
  const agent = join(into, 'bin/tenantry-agent.js')
  expect((await execa(agent, ['doctor', '--help'])).stdout).toContain('doctor')
  expect((await execa(agent, ['--version'])).stdout).toMatch(/^0\.1\.0\+\w+/)
  const [kilobytes] = (await execa('du', ['-sk', into])).stdout.split('\t')
  expect(Number(kilobytes)).toBeLessThan(60 * 1024)
})
